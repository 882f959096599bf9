import SyncStorage

/// The entities of a store by id: read from ``EntityTable``, and read again when an unknown id is
/// asked for.
///
/// Confined to its connection's queue.
package final class EntityCatalog {
    private let table: EntityTable
    private var byID: [Int64: TrackedEntity] = [:]
    private var byLineage: [Int64: TrackedEntity] = [:]
    private var lastByLineage: [Int64: TrackedEntity] = [:]
    private var idsByName: [String: [Int64]] = [:]

    /// - Throws: as ``reload()``; `refused` when the table is missing.
    package init(_ connection: OpaquePointer) throws {
        table = try EntityTable(connection)
        try reload()
    }

    /// Reads the table again.
    /// - Throws: `badData` for a layout that cannot be read.
    /// - Complexity: O(entities)
    package func reload() throws {
        byID = [:]
        byLineage = [:]
        lastByLineage = [:]
        idsByName = [:]
        for entity in try table.all() {
            byID[entity.id] = entity
            if !entity.isRetired { byLineage[entity.lineage] = entity }
            if lastByLineage[entity.lineage].map({ $0.id < entity.id }) ?? true {
                lastByLineage[entity.lineage] = entity
            }
            idsByName[entity.folded, default: []].append(entity.id)
        }
    }

    /// The entity of an id; nil when the table does not have it.
    /// - Throws: as ``reload()``.
    package func entity(_ id: Int64) throws -> TrackedEntity? {
        if let entity = byID[id] { return entity }
        try reload()
        return byID[id]
    }

    /// The entity of an id, if it was read already.
    func known(_ id: Int64) -> TrackedEntity? { byID[id] }

    /// The ids that a folded name has had, in no particular order; empty when it was never tracked.
    func ids(named folded: String) -> [Int64] { idsByName[folded] ?? [] }

    /// The ids that the table with a folded name has had, under whatever name, and those of tables
    /// that had this name when they were dropped.
    func ids(namedNow folded: String) -> [Int64] {
        byID.values.filter { (latest(of: $0.lineage) ?? $0).folded == folded }.map(\.id)
    }

    /// The present entity of a lineage, or the last one before its table was dropped.
    package func latest(of lineage: Int64) -> TrackedEntity? {
        byLineage[lineage] ?? lastByLineage[lineage]
    }

    /// The present entity of a lineage; nil when its table was dropped or is not recorded.
    package func present(of lineage: Int64) -> TrackedEntity? { byLineage[lineage] }

    /// All entities there ever were, by number.
    package var all: [TrackedEntity] { byID.values.sorted { $0.id < $1.id } }

    /// The present names of the columns of an earlier entity of the same table, in its order; nil
    /// in the place of one that was renamed by a rebuild or dropped. Nil when `old` is no such
    /// entity.
    /// - Throws: as ``reload()``.
    package func names(of old: Int64, in now: TrackedEntity) throws -> [String?]? {
        guard let first = try entity(old) else { return nil }
        var steps: [TrackedEntity] = []
        var step = now
        while step.id != old {
            steps.append(step)
            guard let id = step.layout.previous, id < step.id, let previous = try entity(id)
            else { return nil }
            step = previous
        }
        var names: [String?] = first.columnNames
        for step in steps.reversed() {
            let renamed = Dictionary(
                (step.layout.renamed ?? [:]).map { ($0.value, $0.key) }
            ) { first, _ in first }
            names = names.map { name in
                guard let name else { return nil }
                let now = renamed[name] ?? name
                return step.columnNames.first { SQLName.isEqual($0, to: now) }
            }
        }
        return names
    }

    /// The present entities.
    package var present: [TrackedEntity] {
        byID.values.filter { !$0.isRetired }.sorted { $0.id < $1.id }
    }
}
