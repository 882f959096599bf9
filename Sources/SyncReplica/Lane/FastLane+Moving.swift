import SyncMerge

/// What may change besides the objects that the lane takes, where the general lane has a part of
/// the slice: decided by tables, not by rows.
extension FastLane {
    /// Refuses objects until none of the others depends on what may change.
    /// - Throws: SQLite errors.
    /// - Complexity: O(facts · tables)
    func settle() throws {
        var count = -1
        while count != refusals.count {
            count = refusals.count
            if count > 0 { refuseMoving() }
            try refuseReferences()
        }
    }

    /// Refuses what depends on other rows of a table in which rows may change.
    ///
    /// The general lane may delete, hide, revive or unite rows of the refused objects' tables and
    /// of those with unresolved objects; it may revive what these refer to, which may claim values
    /// of other rows again. Rows that refer to rows of such a table may change with them.
    private func refuseMoving() {
        let entities = storage.schema.merge.entities
        let roots = refusedEntities.union(troubledEntities)
        var above = roots
        var work = Array(roots)
        while let entity = work.popLast() {
            for reference in entities[entity].references
            where above.insert(reference.target).inserted { work.append(reference.target) }
        }
        let moving = roots.union(above.filter { !entities[$0].claims.isEmpty })
        var below: Set<Int> = []
        var isGrowing = true
        while isGrowing {
            isGrowing = false
            for (position, entity) in entities.enumerated() where !below.contains(position) {
                let depends = entity.references.contains {
                    moving.contains($0.target) || below.contains($0.target)
                }
                if depends {
                    below.insert(position)
                    isGrowing = true
                }
            }
        }
        keepArrivals { arrival in
            if below.contains(arrival.entity) { return .reference }
            if moving.contains(arrival.entity), !entities[arrival.entity].claims.isEmpty {
                return .claim
            }
            // Rows of the general lane may need numbers, and each depends on those before it.
            let isPrivate = lane.entities[arrival.entity]?.isPrivate ?? false
            return arrival.isNew && isPrivate && above.contains(arrival.entity) ? .number : nil
        }
    }

    private func refuseReferences() throws {
        try keepArrivals { try isReferring($0) ? .reference : nil }
    }

    private func keepArrivals(unless reason: (Arrival) throws -> LaneReason?) rethrows {
        var kept: [Arrival] = []
        kept.reserveCapacity(arrivals.count)
        for arrival in arrivals {
            if let reason = try reason(arrival) {
                refuse(arrival.object, reason, entity: arrival.entity)
            } else {
                kept.append(arrival)
            }
        }
        arrivals = kept
    }
}
