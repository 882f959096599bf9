import SyncMerge

/// Which objects of a slice refer only to what is at rest: plain rows whose every target, and the
/// targets of these, are at rest or taken by the fast lane as well. A row that the slice does not
/// name may still disappear by it: with a row above it, or because an object claims its value.
///
/// The greatest such set: all count as at rest until a reason against it is found.
struct LaneReferences {
    private let schema: MergeSchema
    private let slice: LaneSlice
    private var around: LaneSurroundings
    private var candidates: Set<ObjectUID>
    private var dependents: [ObjectUID: [ObjectUID]] = [:]
    private var moving: Set<ObjectUID> = []

    init(
        of candidates: Set<ObjectUID>, in slice: LaneSlice, around: LaneSurroundings,
        schema: MergeSchema
    ) {
        self.candidates = candidates
        self.slice = slice
        self.around = around
        self.schema = schema
    }

    /// The candidates that refer to what is not at rest.
    /// - Parameters:
    ///   - objects: stored rows that may be shown otherwise after the slice.
    ///   - entities: entities of which each row may.
    /// - Throws: SQLite errors; `corrupt`, `badData` for records that cannot be read.
    /// - Complexity: O(facts of the candidates, and of all that they refer to)
    mutating func refused(
        besides objects: Set<ObjectUID>, ofEntities entities: Set<Int>
    ) throws -> Set<ObjectUID> {
        var frontier: Set<ObjectUID> = []
        for uid in candidates {
            guard let targets = targets(of: uid) else {
                moving.insert(uid)
                continue
            }
            for target in targets where target != uid {
                dependents[target, default: []].append(uid)
                if !candidates.contains(target) { frontier.insert(target) }
            }
        }
        var known = frontier
        while !frontier.isEmpty {
            try around.load(frontier)
            var next: Set<ObjectUID> = []
            for uid in frontier {
                guard let object = around.stored[uid], object.state == .plain, object.key != nil,
                    !around.aliased.contains(uid), !slice.objects.contains(uid),
                    !objects.contains(uid), !entities.contains(object.record.entity)
                else {
                    moving.insert(uid)
                    continue
                }
                for target in object.record.targets where target != uid {
                    dependents[target, default: []].append(uid)
                    if !candidates.contains(target) { next.insert(target) }
                }
            }
            frontier = next.subtracting(known)
            known.formUnion(frontier)
        }
        return spread().intersection(candidates)
    }

    /// What depends on what is not at rest, with that.
    private func spread() -> Set<ObjectUID> {
        var found = moving
        var work = Array(moving)
        while let uid = work.popLast() {
            for dependent in dependents[uid] ?? [] where found.insert(dependent).inserted {
                work.append(dependent)
            }
        }
        return found
    }

    /// What an object refers to, before and after the slice; nil where a reference names no object
    /// of its table, or only a part of its key.
    private func targets(of uid: ObjectUID) -> Set<ObjectUID>? {
        guard let arrival = slice.arrivals[uid] else { return nil }
        let entity = schema.entities[arrival.entity]
        let known = around.stored[uid]?.record
        var targets = known?.targets ?? []
        for (_, version) in arrival.versions {
            targets.formUnion(version.value.compactMap(\.target))
        }
        for reference in entity.references {
            guard let cell = entity.cellOfColumn[reference.columns[0]] else { return nil }
            for version in arrival.versions(of: cell) {
                let fields = reference.columns.compactMap { column in
                    entity.cells[cell].firstIndex(of: column).map { version.value[$0] }
                }
                guard let named = fields.lazy.compactMap(\.target).first else { continue }
                let isWhole = fields.enumerated().allSatisfy { part, field in
                    field == .reference(named, part: part)
                }
                let target =
                    slice.arrivals[named]?.entity ?? around.stored[named]?.record.entity
                guard isWhole, target == reference.target else { return nil }
            }
        }
        return targets
    }
}
