import SyncValues

/// Keeps a replica's own batches at a remote few and small in sum: after many small pushes one
/// batch replaces many.
///
/// Invariants
/// - New batches are complete at the remote, and read back, before old ones are removed. A process
///   that is killed in between leaves both; the next run removes the superseded ones.
/// - No receiver is cut off, whether it has acknowledged or not: a new batch starts no later than
///   any of those that it replaces and leads at least as far, so a receiver that can merge one of
///   them can merge it.
/// - Only own batches are read, and none that leads further than what is here.
///
/// Batches are replaced by size, as in a logarithmic merge: the newest ones, and older ones while
/// they are not much larger than these together. So each byte is rewritten O(log n) times, and the
/// sizes of what remains grow towards the oldest batch, which is in the end a snapshot.
struct Compaction<Local: Replica, Peer: Remote>: Sendable {
    private let replica: Local
    private let remote: Peer

    init(of replica: Local, at remote: Peer) {
        self.replica = replica
        self.remote = remote
    }

    /// Replaces batches when there are too many.
    /// - Returns: how many were removed.
    /// - Throws: what the remote and the replica throw. Nothing is lost then.
    func run() async throws -> Int {
        let own = try await remote.ownBatches(ifMoreThan: CompactionPlan.filesMax)
        guard !own.isEmpty else { return 0 }
        let acknowledged = try await acknowledged()
        let plan = CompactionPlan(own, upTo: try await replica.vector)
        var removed = try await remove(
            plan.superseded, for: plan.kept + plan.replaced, acknowledged: acknowledged)
        guard !plan.replaced.isEmpty else { return removed }
        let outgoing = try await replica.outgoing(since: plan.from)
        for place in 0..<outgoing.count { try await remote.append(try outgoing.batch(at: place)) }
        let old = Set(own.map(\.name))
        let new = try await remote.ownBatches(ifMoreThan: 0).filter { !old.contains($0.name) }
        removed += try await remove(plan.replaced, for: new, acknowledged: acknowledged)
        return removed
    }

    /// Removes batches that `others` supersede. These are read and checked before; a damaged one of
    /// them is removed instead, and what is then missing at the remote is sent again by the next
    /// push.
    private func remove(
        _ items: [BatchCatalog.Item], for others: [BatchCatalog.Item], acknowledged: [VersionVector]
    ) async throws -> Int {
        guard !items.isEmpty else { return 0 }
        let needed = others.filter { other in
            items.contains { other.envelope.upTo.covers($0.envelope.from) }
        }
        var whole: [BatchCatalog.Item] = []
        var going: [BatchCatalog.Item] = []
        for item in needed {
            do {
                _ = try BatchDecoder.decode(try await remote.fetch(item))
                whole.append(item)
            } catch let error as SyncError where error.code == .badData {
                going.append(item)
            }
        }
        let path = BatchCatalog(whole)
        going += CompactionPlan.removable(
            items.filter { path.reach(since: $0.envelope.from).covers($0.envelope.upTo) },
            acknowledged: acknowledged)
        try await remote.remove(going)
        return going.count
    }

    /// What the other replicas that use the remote have merged.
    private func acknowledged() async throws -> [VersionVector] {
        let own = try await replica.replicaID
        return try await remote.acknowledged().filter { $0.key != own }.map(\.value)
    }
}
