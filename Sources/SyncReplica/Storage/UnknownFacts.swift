import Foundation
import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

/// Facts of entities or columns that this replica's schema does not have: `syncd_unknown`. They are
/// kept and forwarded, and joined when the schema has a place for them.
final class UnknownFacts {
    /// A fact with the names of what it is about.
    struct Entry {
        let id: Int64
        let entity: String
        let isPrivate: Bool
        /// The columns of the cell; empty for a life fact.
        let columns: [String]
        /// Its entity and cell stand for nothing.
        let fact: Fact
        /// The private number that the object had at the sender.
        let number: Int64?
    }

    private let replicas: ReplicaNames
    private let insert: Statement
    private let select: Statement
    private let remove: Statement

    init(_ connection: OpaquePointer, _ replicas: ReplicaNames) throws {
        self.replicas = replicas
        insert = try Statement(
            connection,
            """
            INSERT INTO syncd_unknown(replica, number, entity, private, columns, fact)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6)
            """)
        select = try Statement(
            connection, "SELECT id, entity, private, columns, fact FROM syncd_unknown ORDER BY id")
        remove = try Statement(connection, "DELETE FROM syncd_unknown WHERE id = ?1")
    }

    /// Keeps a fact.
    /// - Parameter number: the private number that the object has at the sender.
    func write(_ fact: Fact, _ entities: [Batch.Entity], number: Int64? = nil) throws {
        let entity: Batch.Entity
        var columns: [String] = []
        switch fact {
        case .alias: return
        case .life(_, let place, _): entity = entities[place]
        case .cell(_, let place, let cell, _):
            entity = entities[place]
            columns = entity.cells[cell]
            if columns.isEmpty { return }
        }
        insert.bind(1, try replicas.number(of: fact.dot.replica))
        insert.bind(2, fact.dot.number)
        insert.bind(3, entity.name)
        insert.bind(4, Int64(entity.isPrivate ? 1 : 0))
        insert.bind(5, String(decoding: try JSONEncoder().encode(columns), as: UTF8.self))
        insert.bind(6, try encoded(fact, number))
        try insert.run()
    }

    /// All that is kept.
    func all() throws -> [Entry] {
        var entries: [Entry] = []
        while try select.step() {
            let columns = try JSONDecoder().decode(
                [String].self, from: Data((select.text(3) ?? "[]").utf8))
            let (fact, number) = try decoded(select.blob(4) ?? [], width: columns.count)
            entries.append(
                Entry(
                    id: select.integer(0), entity: select.text(1) ?? "",
                    isPrivate: select.integer(2) != 0, columns: columns, fact: fact,
                    number: number))
        }
        return entries
    }

    /// Gives away what has a place now.
    /// - Parameter place: the fact as the present schema names it; nil where there is no place.
    /// - Returns: the facts, and the private numbers of their objects at their senders.
    func take(
        _ place: (Entry) -> Fact?
    ) throws -> (facts: [Fact], numbers: [ObjectUID: Int64]) {
        var facts: [Fact] = []
        var numbers: [ObjectUID: Int64] = [:]
        for entry in try all() {
            guard let fact = place(entry) else { continue }
            facts.append(fact)
            if let uid = fact.object, let number = entry.number { numbers[uid] = number }
            try remove.run(.integer(entry.id))
        }
        return (facts, numbers)
    }

    /// A life fact has the number of its object behind it, where that has one.
    private func encoded(_ fact: Fact, _ number: Int64?) throws -> [UInt8] {
        var writer = ByteWriter()
        switch fact {
        case .alias: break
        case .life(let uid, _, let life):
            writer.append(raw: uid.bytes)
            writer.append(byte: life.kind.rawValue)
            writer.append(varint: UInt64(life.incarnation))
            try RecordCoding.append(life.dot, replicas, &writer)
            if let number { writer.append(signed: number) }
        case .cell(let uid, _, _, let version):
            writer.append(raw: uid.bytes)
            writer.append(varint: UInt64(version.incarnation))
            try RecordCoding.append(version.dot, replicas, &writer)
            for field in version.value { RecordCoding.append(field, &writer) }
        }
        return writer.bytes
    }

    private func decoded(
        _ bytes: [UInt8], width: Int
    ) throws -> (fact: Fact, number: Int64?) {
        var reader = ByteReader(bytes)
        let uid = try reader.identifier(ObjectUID.init(bytes:))
        guard width > 0 else {
            guard let kind = LifeKind(rawValue: try reader.byte()) else {
                throw SyncError(.badData, "a fact that was kept is of no known kind")
            }
            let incarnation = try reader.count(atMost: Life.incarnationMax)
            let dot = try RecordCoding.dot(&reader, replicas)
            let life = Life(dot, kind: kind, incarnation: incarnation)
            return (.life(uid, entity: 0, life), reader.isAtEnd ? nil : try reader.signed())
        }
        let incarnation = try reader.count(atMost: Life.incarnationMax)
        let dot = try RecordCoding.dot(&reader, replicas)
        let value = try (0..<width).map { _ in try RecordCoding.field(&reader) }
        let version = Version(dot, incarnation: incarnation, value: value)
        return (.cell(uid, entity: 0, cell: 0, version), nil)
    }
}

extension MergeSchema {
    /// A fact that was kept, as this schema names it; nil where it has no place.
    func place(of entry: UnknownFacts.Entry) -> Fact? {
        let name = SQLName.folded(entry.entity)
        guard let place = entities.firstIndex(where: { SQLName.folded($0.name) == name }) else {
            return nil
        }
        let columns = entry.columns.map(SQLName.folded)
        switch entry.fact {
        case .alias: return nil
        case .life(let uid, _, let life): return .life(uid, entity: place, life)
        case .cell(let uid, _, _, let version):
            let entity = entities[place]
            for (cell, positions) in entity.cells.enumerated() {
                let names = positions.map { SQLName.folded(entity.columns[$0].name) }
                let order = names.compactMap { columns.firstIndex(of: $0) }
                guard order.count == names.count, names.count == columns.count else { continue }
                return .cell(
                    uid, entity: place, cell: cell,
                    Version(
                        version.dot, incarnation: version.incarnation,
                        value: order.map { version.value[$0] }))
            }
            return nil
        }
    }
}

/// The entities of a batch, with the cells of facts that are only forwarded. Those of an entity of
/// ours stand behind its own, and once more in an entity of the same name at the end: in these
/// cells our inserts have no value (``Batch/defaults(in:)``).
struct DescribedEntities {
    private(set) var entities: [Batch.Entity]
    private let ownCount: Int

    init(_ entities: [Batch.Entity]) {
        self.entities = entities
        ownCount = entities.count
    }

    /// The fact as the batch names it.
    mutating func described(_ entry: UnknownFacts.Entry) -> Fact {
        let name = SQLName.folded(entry.entity)
        let own = entities[..<ownCount].firstIndex { SQLName.folded($0.name) == name }
        switch entry.fact {
        case .alias: return entry.fact
        case .life(let uid, _, let life):
            return .life(uid, entity: own ?? forwarded(name, entry), life)
        case .cell(let uid, _, _, let version):
            if own != nil { _ = cell(entry.columns, at: forwarded(name, entry)) }
            let place = own ?? forwarded(name, entry)
            return .cell(uid, entity: place, cell: cell(entry.columns, at: place), version)
        }
    }

    private mutating func cell(_ columns: [String], at place: Int) -> Int {
        let cells = entities[place].cells
        let names = columns.map(SQLName.folded)
        if let known = cells.firstIndex(where: { $0.map(SQLName.folded) == names }) { return known }
        entities[place].cells.append(columns)
        return cells.count
    }

    private mutating func forwarded(_ name: String, _ entry: UnknownFacts.Entry) -> Int {
        place(of: Batch.Entity(name: entry.entity, isPrivate: entry.isPrivate, cells: []))
    }

    /// The place of an entity behind our own: added when it is not there.
    mutating func place(of entity: Batch.Entity) -> Int {
        let name = SQLName.folded(entity.name)
        let known = entities[ownCount...].firstIndex { SQLName.folded($0.name) == name }
        if let known { return known }
        entities.append(entity)
        return entities.count - 1
    }
}

extension MergeSchema {
    /// Columns of a new table that the writers of its waiting objects did not have show their
    /// default: as ``Batch/defaults(in:)``.
    /// - Parameters:
    ///   - facts: those that have a place now.
    ///   - waiting: those that still have none: their columns are no missing ones.
    func defaults(of facts: [Fact], besides waiting: [UnknownFacts.Entry]) -> [Fact] {
        var stated: [ObjectUID: Set<Int>] = [:]
        for case .cell(let uid, _, let cell, _) in facts { stated[uid, default: []].insert(cell) }
        var others: [ObjectUID: Set<String>] = [:]
        for entry in waiting {
            guard let uid = entry.fact.object else { continue }
            others[uid, default: []].formUnion(entry.columns.map(SQLName.folded))
        }
        var defaults: [Fact] = []
        for case .life(let uid, let place, let life) in facts where life.kind == .created {
            let entity = entities[place]
            for (cell, columns) in entity.cells.enumerated()
            where !(stated[uid]?.contains(cell) ?? false) {
                let names = columns.map { SQLName.folded(entity.columns[$0].name) }
                if !(others[uid]?.isDisjoint(with: names) ?? true) { continue }
                let value = columns.map { Field.value(entity.columns[$0].defaultValue) }
                let version = Version(life.dot, incarnation: life.incarnation, value: value)
                defaults.append(.cell(uid, entity: place, cell: cell, version))
            }
        }
        return defaults
    }
}

extension Batch {
    /// Columns that the sender does not have show their default, as they do in a row that is older
    /// than its column: stated under the insert of the object, the same on every replica.
    func defaults(in schema: MergeSchema) -> [Fact] {
        var missing: [Int: (place: Int, cells: [Int])] = [:]
        for (position, entity) in entities.enumerated() {
            let name = SQLName.folded(entity.name)
            guard let place = schema.entities.firstIndex(where: { SQLName.folded($0.name) == name })
            else { continue }
            let forwarded = entities[(position + 1)...].filter { SQLName.folded($0.name) == name }
            let known = Set(entity.cells.joined().map(SQLName.folded))
                .subtracting(forwarded.flatMap { $0.cells.joined().map(SQLName.folded) })
            let cells = schema.entities[place].cells.enumerated().filter { _, columns in
                columns.allSatisfy { column in
                    !known.contains(SQLName.folded(schema.entities[place].columns[column].name))
                }
            }.map(\.offset)
            if !cells.isEmpty { missing[position] = (place, cells) }
        }
        if missing.isEmpty { return [] }
        var facts: [Fact] = []
        for case .life(let uid, let entity, let life) in self.facts where life.kind == .created {
            guard let (place, cells) = missing[entity] else { continue }
            let described = schema.entities[place]
            for cell in cells {
                let value = described.cells[cell].map {
                    Field.value(described.columns[$0].defaultValue)
                }
                let version = Version(life.dot, incarnation: life.incarnation, value: value)
                facts.append(.cell(uid, entity: place, cell: cell, version))
            }
        }
        return facts
    }
}

extension Delta {
    /// The delta with more facts of its transactions.
    func adding(_ more: [Fact]) -> Delta {
        more.isEmpty ? self : Delta(since: since, headers: headers, facts: facts + more)
    }
}
