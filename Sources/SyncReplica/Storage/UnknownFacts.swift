import Foundation
import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

/// `syncd_unknown`: facts of entities or columns that this replica's schema does not have. They are
/// kept and forwarded, and merged when the schema has a place for them.
///
/// Confined to its connection's queue.
final class UnknownFacts {
    /// A fact with the names of what it is about.
    struct Entry {
        let id: Int64
        let entity: String
        let isPrivate: Bool
        let sharesNumbers: Bool
        /// The columns of the cell; empty for a life fact.
        let columns: [String]
        /// Its entity and cell are 0 and mean nothing.
        let fact: Fact
        /// The private number that the object had at the sender.
        let number: Int64?

        /// The entity with the cell that the fact is about.
        var described: Batch.Entity {
            Batch.Entity(
                name: entity, isPrivate: isPrivate, sharesNumbers: sharesNumbers,
                cells: columns.isEmpty ? [] : [columns])
        }
    }

    private let replicas: ReplicaNames
    private let insert: Statement
    private let select: Statement
    private let selectRegisters: Statement
    private let remove: Statement

    init(_ connection: OpaquePointer, replicas: ReplicaNames) throws {
        self.replicas = replicas
        insert = try Statement(
            """
            INSERT INTO syncd_unknown(replica, number, entity, private, columns, fact)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6)
            """, on: connection)
        select = try Statement(
            "SELECT id, entity, private, columns, fact FROM syncd_unknown ORDER BY id",
            on: connection)
        selectRegisters = try Statement(
            "SELECT DISTINCT entity, columns, private <> 0 FROM syncd_unknown", on: connection)
        remove = try Statement("DELETE FROM syncd_unknown WHERE id = ?1", on: connection)
    }

    /// Keeps a fact.
    /// - Parameters:
    ///   - entity: what the fact is about.
    ///   - columns: those that a version has the fields of; none for a life fact.
    ///   - number: the private number that the object has at the sender.
    /// - Throws: SQLite errors.
    func write(
        _ fact: Fact, of entity: Batch.Entity, columns: [String], number: Int64? = nil
    ) throws {
        switch fact {
        case .alias: return
        case .life: break
        case .cell: if columns.isEmpty { return }
        }
        insert.bind(try replicas.number(of: fact.dot.replica), at: 1)
        insert.bind(fact.dot.number, at: 2)
        insert.bind(entity.name, at: 3)
        insert.bind(Int64(entity.identityCode), at: 4)
        insert.bind(String(decoding: try JSONEncoder().encode(columns), as: UTF8.self), at: 5)
        insert.bind(try encoded(fact, number: number), at: 6)
        try insert.run()
    }

    /// All kept facts, in the order in which they were written.
    /// - Throws: SQLite errors; `badData` for facts that cannot be read.
    /// - Complexity: O(kept facts), in memory
    func all() throws -> [Entry] {
        var entries: [Entry] = []
        try forEach { entries.append($0) }
        return entries
    }

    /// Calls `body` for each kept fact, in the order in which they were written.
    /// - Throws: as ``all()``; what `body` throws.
    /// - Complexity: O(kept facts)
    func forEach(_ body: (Entry) throws -> Void) throws {
        defer { select.reset() }
        while try select.step() {
            let columns = try JSONDecoder().decode(
                [String].self, from: Data((select.text(3) ?? "[]").utf8))
            let (fact, number) = try decoded(select.blob(4) ?? [], width: columns.count)
            try body(
                Entry(
                    id: select.integer(0), entity: select.text(1) ?? "",
                    isPrivate: select.integer(2) != 0, sharesNumbers: select.integer(2) == 2,
                    columns: columns, fact: fact, number: number))
        }
    }

    /// What kept facts are about.
    struct Register {
        let entity: String
        /// The columns of a cell; none for a life fact.
        let columns: [String]
        /// Whether the key is a number that does not identify.
        let isPrivate: Bool
    }

    /// The registers of the kept facts.
    /// - Throws: SQLite errors; `DecodingError` for names that are no JSON.
    /// - Complexity: O(kept facts)
    func registers() throws -> [Register] {
        var registers: [Register] = []
        while try selectRegisters.step() {
            let names = Data((selectRegisters.text(1) ?? "[]").utf8)
            registers.append(
                Register(
                    entity: selectRegisters.text(0) ?? "",
                    columns: try JSONDecoder().decode([String].self, from: names),
                    isPrivate: selectRegisters.integer(2) != 0))
        }
        return registers
    }

    /// Removes what has a place now.
    /// - Parameter place: the facts that the present schema has in place of a kept one, and the
    ///   positions of its columns that still have none; nil where there is no place.
    /// - Returns: the facts, and the private numbers of their objects at their senders.
    /// - Throws: SQLite errors; `badData` for facts that cannot be read.
    /// - Complexity: O(kept facts)
    func removeAll(
        withPlace place: (Entry) -> (facts: [Fact], rest: [Int])?
    ) throws -> (facts: [Fact], numbers: [ObjectUID: Int64]) {
        var facts: [Fact] = []
        var numbers: [ObjectUID: Int64] = [:]
        for entry in try all() {
            guard let placed = place(entry), !placed.facts.isEmpty else { continue }
            facts += placed.facts
            if let uid = entry.fact.object, let number = entry.number { numbers[uid] = number }
            try remove.run(.integer(entry.id))
            guard !placed.rest.isEmpty, case .cell(let uid, _, _, let version) = entry.fact else {
                continue
            }
            try write(
                .cell(uid, entity: 0, cell: 0, version.fields(at: placed.rest)),
                of: entry.described, columns: placed.rest.map { entry.columns[$0] },
                number: entry.number)
        }
        return (facts, numbers)
    }

    // MARK: Summary

    /// Whether any fact is kept; the table may be missing.
    /// - Throws: SQLite errors.
    static func exist(_ connection: OpaquePointer) throws -> Bool {
        guard try ReplicationTables.exist(connection) else { return false }
        return try Statement("SELECT 1 FROM syncd_unknown LIMIT 1", on: connection).step()
    }

    /// The number of changes by entity, in the order of their names: facts of one transaction and
    /// object are one change.
    /// - Parameter excluded: registers that do not count.
    /// - Throws: SQLite errors; `EncodingError`.
    /// - Complexity: O(kept facts)
    static func counts(
        _ connection: OpaquePointer, besides excluded: [Register]
    ) throws -> [(entity: String, count: Int)] {
        // A fact begins with the 16 bytes of its object.
        let select = try Statement(
            """
            SELECT max(entity), count(*) FROM (
              SELECT DISTINCT entity, replica, number, substr(fact, 1, 16) FROM syncd_unknown
              WHERE lower(entity) || ' ' || columns NOT IN (SELECT value FROM json_each(?1)))
            GROUP BY lower(entity) ORDER BY lower(entity)
            """, on: connection)
        let names = try excluded.map { register in
            let columns = try JSONEncoder().encode(register.columns)
            return SQLName.folded(register.entity) + " " + String(decoding: columns, as: UTF8.self)
        }
        select.bind(String(decoding: try JSONEncoder().encode(names), as: UTF8.self), at: 1)
        var counts: [(entity: String, count: Int)] = []
        while try select.step() {
            counts.append((select.text(0) ?? "", Int(clamping: select.integer(1))))
        }
        return counts
    }

    // MARK: Coding

    /// A life fact is followed by the private number of its object, where that has one.
    private func encoded(_ fact: Fact, number: Int64?) throws -> [UInt8] {
        var writer = ByteWriter()
        switch fact {
        case .alias: break
        case .life(let uid, _, let life):
            writer.append(uid)
            writer.append(byte: life.kind.rawValue)
            writer.append(varint: UInt64(life.incarnation))
            try RecordCoding.append(life.dot, to: &writer, replicas: replicas)
            if let number { writer.append(signed: number) }
        case .cell(let uid, _, _, let version):
            writer.append(uid)
            writer.append(varint: UInt64(version.incarnation))
            try RecordCoding.append(version.dot, to: &writer, replicas: replicas)
            for field in version.value { RecordCoding.append(field, to: &writer) }
        }
        return writer.bytes
    }

    private func decoded(_ bytes: [UInt8], width: Int) throws -> (fact: Fact, number: Int64?) {
        var reader = ByteReader(bytes)
        let uid = try reader.identifier(ObjectUID.self)
        guard width > 0 else {
            guard let kind = LifeKind(rawValue: try reader.byte()) else {
                throw SyncError(.badData, "a kept fact has an unknown kind")
            }
            let incarnation = try reader.count(atMost: Life.incarnationMax)
            let dot = try RecordCoding.dot(from: &reader, replicas: replicas)
            let life = Life(dot, kind: kind, incarnation: incarnation)
            return (.life(uid, entity: 0, life), reader.isAtEnd ? nil : try reader.signed())
        }
        let incarnation = try reader.count(atMost: Life.incarnationMax)
        let dot = try RecordCoding.dot(from: &reader, replicas: replicas)
        let value = try (0..<width).map { _ in try RecordCoding.field(from: &reader) }
        let version = Version(dot, incarnation: incarnation, value: value)
        return (.cell(uid, entity: 0, cell: 0, version), nil)
    }
}
