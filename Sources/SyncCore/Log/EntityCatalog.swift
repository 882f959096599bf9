/// The entities of a store by id, read from `syncd_entity` and read again when an unknown id comes
/// up.
///
/// Confined to its connection's queue.
final class EntityCatalog {
    private let select: Statement
    private var byID: [Int64: TrackedEntity] = [:]
    private var idsByName: [String: [Int64]] = [:]

    init(_ connection: OpaquePointer) throws {
        select = try Statement(connection, "SELECT id, name, layout, retired FROM syncd_entity")
        try reload()
    }

    /// Reads the table again.
    func reload() throws {
        byID = [:]
        idsByName = [:]
        while try select.step() {
            let id = select.integer(0)
            let entity = TrackedEntity(
                id: id, name: select.text(1) ?? "",
                layout: try CaptureLayout(json: select.text(2) ?? ""),
                isRetired: select.integer(3) != 0)
            byID[id] = entity
            idsByName[entity.folded, default: []].append(id)
        }
    }

    /// The entity of an id; nil when the table does not have it.
    func entity(_ id: Int64) throws -> TrackedEntity? {
        if let entity = byID[id] { return entity }
        try reload()
        return byID[id]
    }

    /// The ids that a folded name has had, in no particular order; empty when it never was tracked.
    func ids(named folded: String) throws -> [Int64] { idsByName[folded] ?? [] }

    /// The present entities.
    var present: [TrackedEntity] {
        byID.values.filter { !$0.isRetired }.sorted { $0.id < $1.id }
    }
}
