import SyncStorage
import SyncValues

/// The entities of a store by id, read from `syncd_entity` and read again when an unknown id comes
/// up.
///
/// Confined to its connection's queue.
package final class EntityCatalog {
    private let select: Statement
    private var byID: [Int64: TrackedEntity] = [:]
    private var byLineage: [Int64: TrackedEntity] = [:]
    private var idsByName: [String: [Int64]] = [:]

    package init(_ connection: OpaquePointer) throws {
        select = try Statement(
            connection, "SELECT id, name, layout, retired FROM syncd_entity ORDER BY id")
        try reload()
    }

    /// Reads the table again.
    package func reload() throws {
        byID = [:]
        byLineage = [:]
        idsByName = [:]
        defer { select.reset() }
        while try select.step() {
            let id = select.integer(0)
            let layout = try CaptureLayout(json: select.text(2) ?? "")
            let entity = TrackedEntity(
                id: id, name: select.text(1) ?? "", layout: layout,
                isRetired: select.integer(3) != 0,
                lineage: layout.previous.flatMap { byID[$0]?.lineage })
            byID[id] = entity
            if !entity.isRetired { byLineage[entity.lineage] = entity }
            idsByName[entity.folded, default: []].append(id)
        }
    }

    /// The entity of an id; nil when the table does not have it.
    package func entity(_ id: Int64) throws -> TrackedEntity? {
        if let entity = byID[id] { return entity }
        try reload()
        return byID[id]
    }

    /// The ids that a folded name has had, in no particular order; empty when it never was tracked.
    func ids(named folded: String) throws -> [Int64] { idsByName[folded] ?? [] }

    /// The entity that a lineage has now; nil when its table was dropped or is not recorded.
    package func present(of lineage: Int64) -> TrackedEntity? { byLineage[lineage] }

    /// All entities there ever were, by number.
    package var all: [TrackedEntity] { byID.values.sorted { $0.id < $1.id } }

    /// What the columns of an earlier entity of the same table are called now, in its order; nil in
    /// the place of one that was renamed by a rebuild or dropped. Nil when `old` is no such entity.
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
                return step.columnNames.contains(now) ? now : nil
            }
        }
        return names
    }

    /// The present entities.
    package var present: [TrackedEntity] {
        byID.values.filter { !$0.isRetired }.sorted { $0.id < $1.id }
    }
}
