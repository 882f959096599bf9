import SyncMerge

/// What is stored around a slice: read once for all its objects.
struct LaneSurroundings {
    /// The stored objects of the slice, what its facts refer to, and what these refer to as far as
    /// they are not plain: they may be shown again, with all that they require.
    private(set) var stored: [ObjectUID: StoredObject]
    /// The identities that are part of an alias.
    let aliased: Set<ObjectUID>
    /// The unresolved objects, and all that they name.
    let troubled: Set<ObjectUID>
    /// The entities of the unresolved objects.
    let troubledEntities: Set<Int>

    private let objects: ObjectStorage

    /// - Throws: SQLite errors; `corrupt`, `badData` for records that cannot be read.
    /// - Complexity: O(objects that the slice names, aliases, and what is unresolved)
    init(of slice: LaneSlice, in storage: ReplicaStorage) throws {
        objects = storage.objects
        let aliases = try objects.hasAliases() ? objects.aliases() : [:]
        aliased = Set(aliases.keys.flatMap { [$0.first, $0.second] })
        let unresolved = try objects.objects(try objects.unresolved())
        var troubled = Set(unresolved.keys)
        for object in unresolved.values { troubled.formUnion(object.record.targets) }
        self.troubled = troubled
        troubledEntities = Set(unresolved.values.map(\.record.entity))
        stored = [:]
        var asked = slice.named
        var frontier = slice.named
        while !frontier.isEmpty {
            let found = try objects.objects(frontier)
            stored.merge(found) { first, _ in first }
            frontier = []
            for object in found.values where object.state != .plain {
                frontier.formUnion(object.record.targets)
            }
            frontier.subtract(asked)
            asked.formUnion(frontier)
        }
    }

    /// Reads more objects.
    /// - Throws: as ``init(of:in:)``.
    mutating func load(_ uids: Set<ObjectUID>) throws {
        stored.merge(try objects.objects(uids.subtracting(stored.keys))) { first, _ in first }
    }
}

extension ObjectRecord {
    /// All that its versions refer to.
    /// - Complexity: O(facts)
    var targets: Set<ObjectUID> {
        Set(cells.joined().flatMap { $0.value.compactMap(\.target) })
    }
}
