import SyncMerge
import SyncValues

/// Stores the object of each row of a table, in the order of the keys.
///
/// Confined to its connection's queue and to one transaction.
final class RowStating {
    /// Objects that were stored.
    private(set) var count = 0

    private let recording: LocalRecording
    private let consolidation: CommitConsolidation
    private let identities: RowIdentities
    private let storage: ReplicaStorage
    private let objects: NewObjects
    private let older: OlderTransactions
    /// The positions of the transactions in the merge order, by their numbers.
    private let positions: [Int64: Int64]

    /// - Parameters:
    ///   - firstPosition: the position that the first of the headers is going to have.
    ///   - older: gets the rows that are older than history.
    init(
        _ recording: LocalRecording, consolidation: CommitConsolidation,
        identities: RowIdentities, storage: ReplicaStorage, firstPosition: Int64,
        older: OlderTransactions
    ) {
        self.older = older
        self.recording = recording
        self.consolidation = consolidation
        self.identities = identities
        self.storage = storage
        objects = NewObjects(storage.schema.merge, headers: recording.headers)
        positions = Dictionary(
            uniqueKeysWithValues: recording.headers.enumerated().map { place, header in
                (header.dot.number, firstPosition + Int64(place))
            })
    }

    /// Stores the objects of an entity.
    /// - Parameter mayDivide: whether its older rows may be divided between transactions anywhere.
    /// - Throws: ``StatementObstacle``; `refused` for a row that its table refuses; SQLite errors.
    /// - Complexity: O(rows)
    func state(_ entity: Int, mayDivide: Bool) throws {
        let table = storage.schema.tables[entity]
        let select = try storage.statements.statement(table.selectInOrder)
        defer { select.reset() }
        while try select.step() {
            let row = table.columns.indices.map { select.value(Int32($0)) }
            let key = storage.schema.merge.key(entity, table.key.map { row[$0] })
            let uid = try identities.uid(of: key)
            if mayDivide { try older.divide() }
            try store(row, at: key, uid: uid)
            if consolidation.births[key] == nil {
                older.append(uid, entity: entity, byteCount: Self.byteCount(of: row))
            }
        }
    }

    private static func byteCount(of row: [Value]) -> Int {
        row.reduce(0) { sum, value in
            switch value {
            case .text(let text): sum + text.utf8.count
            case .blob(let bytes): sum + bytes.count
            default: sum + 8
            }
        }
    }

    private func store(_ row: [Value], at key: RowKey, uid: ObjectUID) throws {
        let entity = storage.schema.merge.entities[key.entity]
        let fields = try identities.fields(of: row, entity: key.entity)
        let refused = RefusedRow(row, as: fields, of: key.entity, in: storage.schema)
        if let refused { throw refused.error }
        var position = Int64(0)
        let record = objects.record(of: uid, entity: key.entity, fields: fields.stated) { columns in
            let dates = consolidation.dates
            let dot =
                columns.isEmpty ? dates.inserted[key] : dates.lastWrite(to: columns, of: key)
            position = max(position, dot.map { positions[$0.number] ?? 0 } ?? older.place)
            return dot ?? older.dot
        }
        guard let record else { throw StatementObstacle.changedValue }
        var object = StoredObject(
            record: record, key: key.values, number: nil, state: .plain,
            place: position)
        if entity.isPrivate, case .integer(let number) = key.values[0] { object.number = number }
        guard try storage.objects.insert(object, uid: uid) else {
            throw StatementObstacle.sameIdentity
        }
        count += 1
    }
}
