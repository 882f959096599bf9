/// Changes of the store that a context has not merged yet, oldest first.
///
/// Invariant: the order is that of the commits.
struct ChangeQueue: Sendable {
    /// The context merges changes without being asked.
    var isAutomatic = true
    private(set) var changes: [StoreChange] = []

    /// Adds a change. One read of all objects covers every commit before it, so that earlier
    /// requests to read the same objects are dropped.
    mutating func append(_ change: StoreChange) {
        if case .unknown(let roots) = change {
            changes = changes.compactMap { earlier in
                guard case .unknown(let earlierRoots) = earlier else { return earlier }
                let rest = earlierRoots.subtracting(roots)
                return rest.isEmpty ? nil : .unknown(roots: rest)
            }
        }
        changes.append(change)
    }

    /// Removes all changes, and returns them.
    mutating func takeAll() -> [StoreChange] {
        defer { changes = [] }
        return changes
    }

    /// Puts changes back that could not be merged, before those that arrived meanwhile.
    mutating func putBack(_ unmerged: ArraySlice<StoreChange>) {
        changes.insert(contentsOf: unmerged, at: 0)
    }

    /// Drops rows from earlier saves that this context has written since: its own are newer.
    mutating func dropRows(writtenBy save: SavedChange) {
        guard !changes.isEmpty else { return }
        let written = Set((save.inserted + save.updated).map(\.id))
        changes = changes.map { change in
            guard case .saved(var saved) = change else { return change }
            saved.updated.removeAll { written.contains($0.id) }
            saved.inserted.removeAll { written.contains($0.id) }
            return .saved(saved)
        }
    }
}
