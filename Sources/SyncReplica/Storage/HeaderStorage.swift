import SyncMerge
import SyncStorage
import SyncValues

/// The headers of merged transactions: `syncd_header`, `syncd_run`, and the vector in
/// `syncd_replica`.
///
/// Invariants
/// - Positions (`place`) ascend in the merge order, which is causal.
/// - The vector covers exactly the transactions that have a header, and those before them of the
///   same replica.
///
/// Confined to its connection's queue.
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
    private let between: Statement
    private let connection: OpaquePointer
    /// Prepared when headers are dropped.
    private var remover: Statement?
    private var runs: [Int64: VersionVector] = [:]
    /// Headers never change; those that were read last.
    private var cache: [Dot: TransactionHeader] = [:]
    private static let cacheMax = 10_000

    /// The columns of the SELECTs of headers.
    private enum Column {
        static let list = "place, replica, number, previous, time, run"
        static let place: Int32 = 0
        static let replica: Int32 = 1
        static let number: Int32 = 2
        /// The newest transaction of the same replica that its writer had seen.
        static let previous: Int32 = 3
        static let time: Int32 = 4
        static let run: Int32 = 5
        /// Not in `list`; follows it.
        static let details: Int32 = 6
    }

    init(_ connection: OpaquePointer, replicas: ReplicaNames) throws {
        self.connection = connection
        self.replicas = replicas
        let columns = Column.list
        selectVector = try Statement(
            "SELECT id, merged FROM syncd_replica WHERE merged > 0", on: connection)
        raise = try Statement(
            "UPDATE syncd_replica SET merged = max(merged, ?2) WHERE id = ?1", on: connection)
        selectAll = try Statement(
            "SELECT \(columns) FROM syncd_header ORDER BY place", on: connection)
        selectOne = try Statement(
            "SELECT \(columns), details FROM syncd_header WHERE replica = ?1 AND number = ?2",
            on: connection)
        selectAfter = try Statement(
            "SELECT \(columns), details FROM syncd_header WHERE place > ?1 ORDER BY place",
            on: connection)
        insert = try Statement(
            """
            INSERT INTO syncd_header(\(Column.list), details)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
            """, on: connection)
        findRun = try Statement("SELECT id FROM syncd_run WHERE seen = ?1", on: connection)
        insertRun = try Statement(
            "INSERT INTO syncd_run(seen) VALUES (?1) RETURNING id", on: connection)
        selectRun = try Statement("SELECT seen FROM syncd_run WHERE id = ?1", on: connection)
        greatestPlace = try Statement("SELECT max(place) FROM syncd_header", on: connection)
        firstAfter = try Statement(
            """
            SELECT \(columns) FROM syncd_header WHERE replica = ?1 AND number > ?2
            ORDER BY number LIMIT 1
            """, on: connection)
        between = try Statement(
            """
            SELECT \(columns) FROM syncd_header
            WHERE replica = ?1 AND number > ?2 AND number <= ?3 ORDER BY number
            """, on: connection)
    }

    /// Drops what was read: after a rollback, and when another connection may have written.
    func reload() {
        runs = [:]
        cache = [:]
    }

    /// What has been merged.
    /// - Throws: as every method here: SQLite errors; `corrupt`, `badData` for rows that cannot
    ///   be read.
    func vector() throws -> VersionVector {
        var vector = VersionVector()
        while try selectVector.step() {
            let replica = try replicas.name(of: selectVector.integer(0))
            vector.advance(to: Dot(replica, selectVector.integer(1)))
        }
        return vector
    }

    /// The position of the newest transaction; 0 when there is none.
    func newestPlace() throws -> Int64 {
        defer { greatestPlace.reset() }
        let place = try greatestPlace.step() ? greatestPlace.integer(0) : 0
        guard 0...Metadata.positionMax ~= place else { throw Self.damaged("position \(place)") }
        return place
    }

    private static func damaged(_ what: String) -> SyncError {
        SyncError(
            .corrupt, "the table syncd_header has a transaction with \(what)",
            hint: Metadata.startOverHint)
    }

    /// All headers, in the merge order.
    /// - Complexity: O(transactions)
    func all() throws -> [TransactionHeader] {
        var headers: [TransactionHeader] = []
        while try selectAll.step() { headers.append(try header(selectAll)) }
        return headers
    }

    /// The header of a transaction; nil when it was dropped.
    func header(_ dot: Dot) throws -> TransactionHeader? {
        if let known = cache[dot] { return known }
        selectOne.bind(try replicas.number(of: dot.replica), at: 1)
        selectOne.bind(dot.number, at: 2)
        defer { selectOne.reset() }
        guard try selectOne.step() else { return nil }
        if cache.count >= Self.cacheMax { cache = [:] }
        let header = try header(selectOne)
        cache[dot] = header
        return header
    }

    /// The header of a transaction with its ``HeaderDetails``; nil when it was dropped.
    func details(_ dot: Dot) throws -> (header: TransactionHeader, details: [UInt8])? {
        selectOne.bind(try replicas.number(of: dot.replica), at: 1)
        selectOne.bind(dot.number, at: 2)
        defer { selectOne.reset() }
        guard try selectOne.step() else { return nil }
        return (try header(selectOne), selectOne.blob(Column.details) ?? [])
    }

    /// The position of a transaction; nil when it was dropped.
    func place(of dot: Dot) throws -> Int64? {
        selectOne.bind(try replicas.number(of: dot.replica), at: 1)
        selectOne.bind(dot.number, at: 2)
        defer { selectOne.reset() }
        return try selectOne.step() ? selectOne.integer(Column.place) : nil
    }

    /// The position of the first transaction that a replica lacks that has merged `since`.
    func firstPlace(lackingTo since: VersionVector) throws -> Int64? {
        var first: Int64?
        for entry in try vector().entries where !since.covers(entry) {
            firstAfter.bind(try replicas.number(of: entry.replica), at: 1)
            firstAfter.bind(since[entry.replica], at: 2)
            if try firstAfter.step() {
                first = min(first ?? .max, firstAfter.integer(Column.place))
            }
            firstAfter.reset()
        }
        return first
    }

    /// How many transactions of a replica after a number are known by their headers.
    /// - Throws: SQLite errors.
    /// - Complexity: O(these)
    func count(of replica: ReplicaID, after number: Int64) throws -> Int64 {
        let count = try Statement(
            "SELECT count(*) FROM syncd_header WHERE replica = ?1 AND number > ?2", on: connection)
        count.bind(try replicas.number(of: replica), at: 1)
        count.bind(number, at: 2)
        return try count.step() ? count.integer(0) : 0
    }

    /// The first transaction of a replica after a number that was not dropped.
    func first(of replica: ReplicaID, after number: Int64) throws -> TransactionHeader? {
        firstAfter.bind(try replicas.number(of: replica), at: 1)
        firstAfter.bind(number, at: 2)
        defer { firstAfter.reset() }
        return try firstAfter.step() ? try header(firstAfter) : nil
    }

    /// The stored headers of a replica's transactions after a number, up to another.
    /// - Complexity: O(headers)
    func headers(
        of replica: ReplicaID, after number: Int64, upTo last: Int64
    ) throws -> [TransactionHeader] {
        guard number < last else { return [] }
        between.bind(try replicas.number(of: replica), at: 1)
        between.bind(number, at: 2)
        between.bind(last, at: 3)
        defer { between.reset() }
        var headers: [TransactionHeader] = []
        while try between.step() { headers.append(try header(between)) }
        return headers
    }

    /// Calls `body` for each transaction after a position, in the merge order.
    /// - Complexity: O(transactions)
    func forEach(
        after place: Int64, _ body: (Int64, TransactionHeader, [UInt8]) throws -> Void
    ) throws {
        selectAfter.bind(place, at: 1)
        defer { selectAfter.reset() }
        while try selectAfter.step() {
            try body(
                selectAfter.integer(Column.place), try header(selectAfter),
                selectAfter.blob(Column.details) ?? [])
        }
    }

    private func header(_ row: Statement) throws -> TransactionHeader {
        let replica = try replicas.name(of: row.integer(Column.replica))
        let (number, previous) = (row.integer(Column.number), row.integer(Column.previous))
        let dot = Dot(replica, number)
        var seen = try run(row.integer(Column.run))
        seen.advance(to: Dot(replica, previous))
        // A run has the other replicas alone.
        guard 1...Metadata.positionMax ~= number, previous >= 0, seen[replica] <= number else {
            throw Self.damaged("number \(number) after \(seen[replica])")
        }
        let time = HybridTime(rawValue: UInt64(bitPattern: row.integer(Column.time)))
        return TransactionHeader(dot, time: time, seen: seen)
    }

    /// Appends a transaction, and moves the vector to it.
    /// - Parameter place: its position, greater than every stored one.
    func append(_ header: TransactionHeader, place: Int64, details: [UInt8]) throws {
        let replica = try replicas.number(of: header.dot.replica)
        insert.bind(place, at: Column.place + 1)
        insert.bind(replica, at: Column.replica + 1)
        insert.bind(header.dot.number, at: Column.number + 1)
        insert.bind(header.seen[header.dot.replica], at: Column.previous + 1)
        insert.bind(Int64(bitPattern: header.time.rawValue), at: Column.time + 1)
        insert.bind(try runNumber(of: header), at: Column.run + 1)
        insert.bind(details, at: Column.details + 1)
        try insert.run()
        raise.bind(replica, at: 1)
        raise.bind(header.dot.number, at: 2)
        try raise.run()
    }

    /// Moves the vector to transactions that were collected elsewhere.
    func raise(to vector: VersionVector) throws {
        for entry in vector.entries {
            raise.bind(try replicas.number(of: entry.replica), at: 1)
            raise.bind(entry.number, at: 2)
            try raise.run()
        }
    }

    // MARK: Dropping and renaming

    /// Drops the headers of some of the transactions after a position.
    /// - Parameters:
    ///   - count: transactions that are checked.
    ///   - isDroppable: whether the header of a transaction is not needed any more.
    ///   - willDrop: called before anything is dropped.
    /// - Returns: the position of the last transaction that was checked, nil at the end; and how
    ///   many were dropped.
    /// - Complexity: O(count)
    func drop(
        after place: Int64, count: Int, where isDroppable: (Dot) -> Bool,
        before willDrop: () throws -> Void
    ) throws -> (place: Int64?, dropped: Int) {
        let newest = try newestPlace()
        let select = try Statement(
            """
            SELECT place, replica, number FROM syncd_header WHERE place > ?1 ORDER BY place LIMIT ?2
            """, on: connection)
        select.bind(place, at: 1)
        select.bind(Int64(count), at: 2)
        var last: Int64?
        var places: [Int64] = []
        while try select.step() {
            let place = select.integer(0)
            last = place
            let dot = Dot(try replicas.name(of: select.integer(1)), select.integer(2))
            if isDroppable(dot), place != newest { places.append(place) }
        }
        if !places.isEmpty { try willDrop() }
        for place in places { try remove(at: place) }
        return (last, places.count)
    }

    /// Drops the vectors that no header names any more.
    /// - Complexity: O(transactions)
    func dropUnusedRuns() throws {
        try RawTransaction.execute(
            "DELETE FROM syncd_run WHERE id NOT IN (SELECT run FROM syncd_header)", on: connection)
    }

    /// Deletes the header at a position.
    func remove(at place: Int64) throws {
        let remove =
            try remover
            ?? Statement(
                "DELETE FROM syncd_header WHERE place = ?1", on: connection)
        remover = remove
        try remove.run(.integer(place))
    }

    /// Moves the vector back to a transaction of a replica whose later ones were renamed.
    func lower(to dot: Dot) throws {
        try Statement("UPDATE syncd_replica SET merged = ?2 WHERE replica = ?1", on: connection)
            .run(.blob(dot.replica.bytes), .integer(dot.number))
    }

    /// Replaces the details of the headers.
    /// - Parameter transform: the new details of stored ones.
    /// - Complexity: O(changes of all transactions), in memory.
    static func rewriteDetails(
        _ connection: OpaquePointer, _ transform: ([UInt8]) throws -> [UInt8]
    ) throws {
        let select = try Statement("SELECT place, details FROM syncd_header", on: connection)
        let update = try Statement(
            "UPDATE syncd_header SET details = ?2 WHERE place = ?1", on: connection)
        var changed: [(Int64, [UInt8])] = []
        while try select.step() {
            let details = select.blob(1) ?? []
            let rewritten = try transform(details)
            if rewritten != details { changed.append((select.integer(0), rewritten)) }
        }
        for (place, details) in changed { try update.run(.integer(place), .blob(details)) }
    }

    // MARK: Runs

    private func run(_ number: Int64) throws -> VersionVector {
        if let run = runs[number] { return run }
        selectRun.bind(number, at: 1)
        defer { selectRun.reset() }
        guard try selectRun.step() else {
            throw SyncError(
                .corrupt, "syncd_header names the run \(number), which is not in syncd_run")
        }
        var reader = ByteReader(selectRun.blob(0) ?? [])
        var vector = VersionVector()
        while !reader.isAtEnd {
            vector.advance(to: try RecordCoding.dot(from: &reader, replicas: replicas))
        }
        runs[number] = vector
        return vector
    }

    private func runNumber(of header: TransactionHeader) throws -> Int64 {
        var writer = ByteWriter()
        for dot in header.seen.entries where dot.replica != header.dot.replica {
            try RecordCoding.append(dot, to: &writer, replicas: replicas)
        }
        for statement in [findRun, insertRun] {
            statement.bind(writer.bytes, at: 1)
            guard try statement.step() else { continue }
            let number = statement.integer(0)
            try statement.run()
            return number
        }
        throw SyncError(.internalFault, "a run got no number")
    }
}
