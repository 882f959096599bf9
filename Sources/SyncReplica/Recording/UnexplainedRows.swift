import SyncMerge
import SyncStorage
import SyncValues

/// Finds the rows that the records may not explain, row by row, without a region or a view: all
/// that are not *plain*, or differ from their record, and the keys of objects that have no row.
///
/// A plain row shows what its object states, alone; so one that equals its record was not written
/// since. Of tables that ``StatedEntity`` leaves out all rows are found.
///
/// Confined to its connection's queue and to one transaction.
final class UnexplainedRows {
    private let storage: ReplicaStorage
    private let objects: StatedObjects
    private let widths: [[Int]]
    // Used for each row, so that they are allocated once.
    private var shown = RowCells()
    private var parsed = LaneRecord()
    private var stored: [UInt8] = []
    private let targets: StoredTargets

    init(_ storage: ReplicaStorage) throws {
        self.storage = storage
        targets = StoredTargets(storage)
        objects = try storage.stated()
        widths = storage.schema.merge.entities.map { $0.cells.map(\.count) }
    }

    private var schema: ReplicaSchema { storage.schema }

    /// Calls `body` with the key of each such row, once, and whether the row is there.
    /// - Throws: SQLite errors; `corrupt`, `badData` for records that cannot be read.
    /// - Complexity: O(rows and objects), O(1) in memory
    func forEach(_ body: (RowKey, _ isThere: Bool) throws -> Void) throws {
        for entity in schema.tables.indices { try findRows(of: entity, body) }
    }

    private func findRows(of position: Int, _ body: (RowKey, _ isThere: Bool) throws -> Void) throws
    {
        let table = schema.tables[position]
        let entity = objects.entities[position]
        let rows = try Statement(table.selectAll, on: storage.connection)
        var explained: Int64 = 0
        while try rows.step() {
            let key = schema.merge.key(position, table.key.map { rows.value(Int32($0)) })
            if key.values.contains(.null) { continue }
            if let entity, try isExplained(rows, at: key, entity) {
                explained += 1
            } else {
                try body(key, true)
            }
        }
        try findObjects(of: position, explained: explained, body)
    }

    /// Finds the objects that were shown as a row and have none.
    private func findObjects(
        of position: Int, explained: Int64, _ body: (RowKey, _ isThere: Bool) throws -> Void
    ) throws {
        let from = "FROM syncd_object WHERE shape = ?1 AND key IS NOT NULL"
        let count = try Statement("SELECT count(*) \(from)", on: storage.connection)
        count.bind(storage.shapes.number(of: position), at: 1)
        guard try count.step(), count.integer(0) > explained else { return }
        let keys = try Statement("SELECT key \(from)", on: storage.connection)
        keys.bind(storage.shapes.number(of: position), at: 1)
        let row = try Statement(schema.tables[position].selectOne, on: storage.connection)
        while try keys.step() {
            guard let values = try StoredKey.key(from: keys.value(0)), !values.contains(.null)
            else { continue }
            row.bind(values)
            defer { row.reset() }
            if try !row.step() { try body(schema.merge.key(position, values), false) }
        }
    }

    private func isExplained(
        _ row: Statement, at key: RowKey, _ entity: StatedEntity
    ) throws -> Bool {
        let find = objects.find
        find.bind(StoredKey.value(of: key.values, as: .selfDescribing), at: 1)
        find.bind(storage.shapes.number(of: entity.position), at: 2)
        defer { find.reset() }
        guard try find.step(), find.integer(2) == StoredObject.State.plain.rawValue else {
            return false
        }
        stored.removeAll(keepingCapacity: true)
        find.withBlob(3) { bytes in
            bytes.withMemoryRebound(to: UInt8.self) { stored.append(contentsOf: $0) }
        }
        let isRecord = stored.withUnsafeBytes {
            parsed.read($0, widths: widths[entity.position])
        }
        guard isRecord, parsed.isSimple,
            shown.read(row, entity, targets: try targets(of: row, entity))
        else { return false }
        var start = 0
        for cell in entity.cells.indices {
            let end = shown.ends[cell]
            guard try shown.isEqual(start..<end, to: parsed.cells[cell], of: stored) else {
                return false
            }
            start = end
        }
        return true
    }

    private func targets(of row: Statement, _ entity: StatedEntity) throws -> [ObjectUID?] {
        if entity.references.isEmpty { return [] }
        return try entity.references.map { reference in
            let values = reference.columns.map { row.value(Int32($0)) }
            if values.contains(.null) { return nil }
            return try targets.uid(of: schema.merge.key(reference.target, values))
        }
    }
}
