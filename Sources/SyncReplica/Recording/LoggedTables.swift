import SyncCore
import SyncStorage

/// Which tables and columns the changes of the log are about: a table may have had another name,
/// or other columns, when a change was logged. Found when it is asked for.
final class LoggedTables {
    /// What an entity of the log is now.
    struct Place {
        /// Its position in the schema.
        let position: Int
        /// The present column of each logged one; nil for one that was dropped.
        let columns: [Int?]
    }

    private let schema: ReplicaSchema
    private let catalog: EntityCatalog
    private var places: [Int64: Place?] = [:]

    init(_ schema: ReplicaSchema, catalog: EntityCatalog) {
        self.schema = schema
        self.catalog = catalog
    }

    /// Finds the places of the entities of some changes.
    /// - Throws: as ``find(_:)``.
    /// - Complexity: O(changes)
    func find(of entries: [UnrecordedTransactions.Entry]) throws {
        for change in entries.lazy.flatMap(\.changes) { _ = try find(change.entity) }
    }

    /// The place of an entity; nil when its table was dropped, or has another key.
    /// - Throws: `badData` for layouts that cannot be read; SQLite errors.
    /// - Complexity: O(columns) the first time
    func find(_ entity: TrackedEntity) throws -> Place? {
        if let known = places[entity.id] { return known }
        let place = try Self.place(of: entity, schema, catalog)
        places.updateValue(place, forKey: entity.id)
        return place
    }

    /// As ``find(_:)``, of an entity that was found before.
    subscript(entity: TrackedEntity) -> Place? { places[entity.id] ?? nil }

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
