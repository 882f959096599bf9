import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

/// The headers of merged transactions: `syncd_header`, `syncd_run`, and the vector in
/// `syncd_replica`.
///
/// Invariants: places ascend in the order of merging, which is causal; the vector covers exactly
/// what has a header, and what came before it.
final class HeaderStorage {
    private let replicas: ReplicaNames
    private let selectVector: Statement
    private let raise: Statement
    private let selectAll: Statement
    private let selectOne: Statement
    private let selectAfter: Statement
    private let insert: Statement
    private let findRun: Statement
    private let insertRun: Statement
    private let selectRun: Statement
    private let greatestPlace: Statement
    private let firstAfter: Statement
    private var runs: [Int64: VersionVector] = [:]
    /// Headers never change; the newest that were asked for.
    private var cache: [Dot: TransactionHeader] = [:]
    private static let cacheMax = 10_000

    init(_ connection: OpaquePointer, _ replicas: ReplicaNames) throws {
        self.replicas = replicas
        let columns = "place, replica, number, previous, time, run"
        selectVector = try Statement(
            connection, "SELECT id, merged FROM syncd_replica WHERE merged > 0")
        raise = try Statement(
            connection, "UPDATE syncd_replica SET merged = max(merged, ?2) WHERE id = ?1")
        selectAll = try Statement(
            connection, "SELECT \(columns) FROM syncd_header ORDER BY place")
        selectOne = try Statement(
            connection,
            "SELECT \(columns), details FROM syncd_header WHERE replica = ?1 AND number = ?2")
        selectAfter = try Statement(
            connection,
            "SELECT \(columns), details FROM syncd_header WHERE place > ?1 ORDER BY place")
        insert = try Statement(
            connection,
            """
            INSERT INTO syncd_header(place, replica, number, previous, time, run, details)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
            """)
        findRun = try Statement(connection, "SELECT id FROM syncd_run WHERE seen = ?1")
        insertRun = try Statement(
            connection, "INSERT INTO syncd_run(seen) VALUES (?1) RETURNING id")
        selectRun = try Statement(connection, "SELECT seen FROM syncd_run WHERE id = ?1")
        greatestPlace = try Statement(connection, "SELECT max(place) FROM syncd_header")
        firstAfter = try Statement(
            connection,
            """
            SELECT \(columns) FROM syncd_header WHERE replica = ?1 AND number > ?2
            ORDER BY number LIMIT 1
            """)
    }

    /// Forgets what was read: after a rollback, and when somebody else may have written.
    func reload() {
        runs = [:]
        cache = [:]
    }

    /// What has been merged.
    func vector() throws -> VersionVector {
        var vector = VersionVector()
        while try selectVector.step() {
            let replica = try replicas.name(of: selectVector.integer(0))
            vector.advance(to: Dot(replica, selectVector.integer(1)))
        }
        return vector
    }

    /// The place of the newest transaction; 0 when there is none.
    func newestPlace() throws -> Int64 {
        defer { greatestPlace.reset() }
        return try greatestPlace.step() ? greatestPlace.integer(0) : 0
    }

    /// All headers, in the order of merging.
    func all() throws -> [TransactionHeader] {
        var headers: [TransactionHeader] = []
        while try selectAll.step() { headers.append(try header(selectAll)) }
        return headers
    }

    /// The header of a transaction; nil when it was dropped.
    func header(_ dot: Dot) throws -> TransactionHeader? {
        if let known = cache[dot] { return known }
        selectOne.bind(1, try replicas.number(of: dot.replica))
        selectOne.bind(2, dot.number)
        defer { selectOne.reset() }
        guard try selectOne.step() else { return nil }
        if cache.count >= Self.cacheMax { cache = [:] }
        let header = try header(selectOne)
        cache[dot] = header
        return header
    }

    /// The header of a transaction with what history says of it; nil when it was dropped.
    func details(_ dot: Dot) throws -> (header: TransactionHeader, details: [UInt8])? {
        selectOne.bind(1, try replicas.number(of: dot.replica))
        selectOne.bind(2, dot.number)
        defer { selectOne.reset() }
        guard try selectOne.step() else { return nil }
        return (try header(selectOne), selectOne.blob(6) ?? [])
    }

    /// The place of a transaction; nil when it was dropped.
    func place(of dot: Dot) throws -> Int64? {
        selectOne.bind(1, try replicas.number(of: dot.replica))
        selectOne.bind(2, dot.number)
        defer { selectOne.reset() }
        return try selectOne.step() ? selectOne.integer(0) : nil
    }

    /// The place of the first transaction that somebody who has merged `since` lacks.
    func firstPlace(lackingTo since: VersionVector) throws -> Int64? {
        var first: Int64?
        for entry in try vector().entries where !since.covers(entry) {
            firstAfter.bind(1, try replicas.number(of: entry.replica))
            firstAfter.bind(2, since[entry.replica])
            if try firstAfter.step() { first = min(first ?? .max, firstAfter.integer(0)) }
            firstAfter.reset()
        }
        return first
    }

    /// The first transaction of a replica after a number that is still here.
    func first(of replica: ReplicaID, after number: Int64) throws -> TransactionHeader? {
        firstAfter.bind(1, try replicas.number(of: replica))
        firstAfter.bind(2, number)
        defer { firstAfter.reset() }
        return try firstAfter.step() ? try header(firstAfter) : nil
    }

    /// Calls `body` for each transaction after a place, in the order of merging.
    func forEach(
        after place: Int64, _ body: (Int64, TransactionHeader, [UInt8]) throws -> Void
    ) throws {
        selectAfter.bind(1, place)
        defer { selectAfter.reset() }
        while try selectAfter.step() {
            try body(
                selectAfter.integer(0), try header(selectAfter), selectAfter.blob(6) ?? [])
        }
    }

    private func header(_ row: Statement) throws -> TransactionHeader {
        let dot = Dot(try replicas.name(of: row.integer(1)), row.integer(2))
        var seen = try run(row.integer(5))
        seen.advance(to: Dot(dot.replica, row.integer(3)))
        let time = HybridTime(rawValue: UInt64(bitPattern: row.integer(4)))
        return TransactionHeader(dot, time: time, seen: seen)
    }

    /// Takes note of a transaction, and moves the vector.
    /// - Returns: its place.
    func append(_ header: TransactionHeader, place: Int64, details: [UInt8]) throws {
        let replica = try replicas.number(of: header.dot.replica)
        insert.bind(1, place)
        insert.bind(2, replica)
        insert.bind(3, header.dot.number)
        insert.bind(4, header.seen[header.dot.replica])
        insert.bind(5, Int64(bitPattern: header.time.rawValue))
        insert.bind(6, try runNumber(header))
        insert.bind(7, details)
        try insert.run()
        raise.bind(1, replica)
        raise.bind(2, header.dot.number)
        try raise.run()
    }

    /// Moves the vector over transactions that nothing is left of.
    func raise(to vector: VersionVector) throws {
        for entry in vector.entries {
            raise.bind(1, try replicas.number(of: entry.replica))
            raise.bind(2, entry.number)
            try raise.run()
        }
    }

    // MARK: Runs

    private func run(_ number: Int64) throws -> VersionVector {
        if let run = runs[number] { return run }
        selectRun.bind(1, number)
        defer { selectRun.reset() }
        guard try selectRun.step() else {
            throw SyncError(.corrupt, "a transaction names the run \(number), which is not there")
        }
        var reader = ByteReader(selectRun.blob(0) ?? [])
        var vector = VersionVector()
        while !reader.isAtEnd { vector.advance(to: try RecordCoding.dot(&reader, replicas)) }
        runs[number] = vector
        return vector
    }

    private func runNumber(_ header: TransactionHeader) throws -> Int64 {
        var writer = ByteWriter()
        for dot in header.seen.entries where dot.replica != header.dot.replica {
            try RecordCoding.append(dot, replicas, &writer)
        }
        for statement in [findRun, insertRun] {
            statement.bind(1, writer.bytes)
            guard try statement.step() else { continue }
            let number = statement.integer(0)
            try statement.run()
            return number
        }
        throw SyncError(.internalFault, "a run got no number")
    }
}
