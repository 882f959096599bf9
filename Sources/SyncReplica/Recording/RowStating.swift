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
    /// The positions of the transactions in the merge order, by their numbers.
    private let positions: [Int64: Int64]

    /// - Parameter firstPosition: the position that the first of the headers is going to have.
    init(
        _ recording: LocalRecording, consolidation: CommitConsolidation,
        identities: RowIdentities, storage: ReplicaStorage, firstPosition: Int64
    ) {
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
    /// - Parameter older: called with the insert of each row that is older than history.
    /// - Throws: ``StatementObstacle``; `refused` for a row that its table refuses; SQLite errors.
    /// - Complexity: O(rows)
    func state(_ entity: Int, older: (Batch.Change) -> Void) throws {
        let table = storage.schema.tables[entity]
        let select = try storage.statements.statement(table.selectInOrder)
        defer { select.reset() }
        while try select.step() {
            let row = table.columns.indices.map { select.value(Int32($0)) }
            let key = storage.schema.merge.key(entity, table.key.map { row[$0] })
            let uid = try identities.uid(of: key)
            try store(row, at: key, uid: uid)
            if consolidation.births[key] == nil {
                older(Batch.Change(uid, entity: entity, kind: .insert))
            }
        }
    }

    private func store(_ row: [Value], at key: RowKey, uid: ObjectUID) throws {
        let entity = storage.schema.merge.entities[key.entity]
        let fields = try identities.fields(of: row, entity: key.entity)
        let refused = RefusedRow(row, as: fields, of: key.entity, in: storage.schema)
        if let refused { throw refused.error }
        let last = recording.last.dot
        var newest = Int64(0)
        let record = objects.record(of: uid, entity: key.entity, fields: fields.stated) { columns in
            let dates = consolidation.dates
            let dot =
                columns.isEmpty ? dates.inserted[key] : dates.lastWrite(to: columns, of: key)
            newest = max(newest, (dot ?? last).number)
            return dot ?? last
        }
        guard let record else { throw StatementObstacle.changedValue }
        var object = StoredObject(
            record: record, key: key.values, number: nil, state: .plain,
            place: positions[newest] ?? 0)
        if entity.isPrivate, case .integer(let number) = key.values[0] { object.number = number }
        guard try storage.objects.insert(object, uid: uid) else {
            throw StatementObstacle.sameIdentity
        }
        count += 1
    }
}
