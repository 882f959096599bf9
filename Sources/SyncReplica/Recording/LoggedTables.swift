import SyncCore
import SyncStorage

/// Which tables and columns the changes of the log are about: a table may have had another name,
/// or other columns, when a change was logged.
struct LoggedTables {
    /// What an entity of the log is now.
    struct Place {
        /// Its position in the schema.
        let position: Int
        /// The present column of each logged one; nil for one that was dropped.
        let columns: [Int?]
    }

    private var places: [Int64: Place] = [:]

    /// - Throws: `badData` for layouts that cannot be read; SQLite errors.
    /// - Complexity: O(entities · columns)
    init(
        of entries: [UnrecordedTransactions.Entry], schema: ReplicaSchema, catalog: EntityCatalog
    ) throws {
        for change in entries.lazy.flatMap(\.changes) where places[change.entity.id] == nil {
            places[change.entity.id] = try Self.place(of: change.entity, schema, catalog)
        }
    }

    /// The place of an entity of the entries; nil when its table was dropped, or has another key.
    subscript(entity: TrackedEntity) -> Place? { places[entity.id] }

    private static func place(
        of entity: TrackedEntity, _ schema: ReplicaSchema, _ catalog: EntityCatalog
    ) throws -> Place? {
        let last = catalog.latest(of: entity.lineage) ?? entity
        guard let now = last.isRetired ? successor(of: last, catalog) : last,
            let position = schema.position(of: now.name),
            schema.tables[position].key.count == entity.keyCount
        else { return nil }
        let names = try catalog.names(of: entity.id, in: last) ?? entity.columnNames
        return Place(
            position: position,
            columns: names.map { name in name.flatMap { schema.column($0, of: position) } })
    }

    /// The table that was created in the place of a dropped one: of its name, and never renamed.
    private static func successor(
        of last: TrackedEntity, _ catalog: EntityCatalog
    ) -> TrackedEntity? {
        guard let now = catalog.present.first(where: { $0.folded == last.folded }),
            let first = catalog.all.first(where: { $0.id == now.lineage })
        else { return nil }
        return first.folded == last.folded ? now : nil
    }
}
