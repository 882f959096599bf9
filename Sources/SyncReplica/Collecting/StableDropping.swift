import SyncMerge

/// Drops what no replica needs any more.
///
/// Invariant: after each method `syncd_meta.collected` covers the cut at which something was
/// dropped: a replica that lacks a transaction up to it gets a snapshot.
struct StableDropping {
    private let transaction: MergeTransaction
    private let storage: ReplicaStorage
    /// What every present replica has merged.
    private let stable: VersionVector

    init(_ transaction: MergeTransaction, stable: VersionVector) {
        self.transaction = transaction
        storage = transaction.storage
        self.stable = stable
    }

    /// Drops objects that were marked at a vector that is stable now.
    /// - Parameter count: objects at most.
    /// - Returns: how many; 0: there are no more.
    /// - Throws: SQLite errors; `corrupt`, `badData` for marks that cannot be read.
    /// - Complexity: O(count)
    func dropObjects(count: Int) throws -> Int {
        let uids = try storage.marks.droppable(at: stable, count: count)
        guard !uids.isEmpty else { return 0 }
        try noteCollected()
        for uid in uids { try storage.objects.remove(uid) }
        try storage.marks.remove(from: uids)
        return uids.count
    }

    /// Drops headers of stable transactions that no fact needs.
    /// - Parameters:
    ///   - used: transactions of facts that are kept, and of conflicts.
    ///   - place: where the slice before ended.
    ///   - count: transactions that are checked.
    /// - Returns: where this slice ended, nil at the end; and how many were dropped.
    /// - Throws: SQLite errors.
    /// - Complexity: O(count)
    func dropHeaders(
        besides used: Set<Dot>, after place: Int64, count: Int
    ) throws -> (place: Int64?, dropped: Int) {
        let outcome = try storage.headers.drop(
            after: place, count: count, where: { stable.covers($0) && !used.contains($0) },
            before: { try storage.moveBases(to: stable) })
        if outcome.dropped > 0 { try noteCollected() }
        return outcome
    }

    private func noteCollected() throws {
        let collected = try transaction.settings.vector(.collected)
        if !collected.covers(stable) {
            try transaction.settings.set(.collected, to: collected.joined(stable))
        }
    }
}
