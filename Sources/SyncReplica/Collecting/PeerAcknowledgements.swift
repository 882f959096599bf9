import SyncMerge
import SyncValues

/// What the other replicas of a store have merged, as far as they have acknowledged it.
///
/// Invariant: what is stored of a replica was merged by it. It grows until the file is restored to
/// an earlier state.
struct PeerAcknowledgements {
    private let transaction: MergeTransaction
    private let storage: ReplicaStorage

    init(_ transaction: MergeTransaction) {
        self.transaction = transaction
        storage = transaction.storage
    }

    /// Stores what other replicas have merged. An acknowledgement counts once everything that its
    /// replica wrote up to there is here: until then a fact of it may still refer to an object that
    /// is dropped.
    /// - Parameter now: milliseconds since 1970.
    /// - Throws: SQLite errors.
    /// - Complexity: O(replicas)
    func note(_ acknowledged: [ReplicaID: VersionVector], at now: Int64) throws {
        let own = try storage.headers.vector()
        let known = try storage.peers.all()
        var all = acknowledged
        for replica in own.entries.map(\.replica) + known.keys where all[replica] == nil {
            all[replica] = VersionVector()
        }
        all[transaction.identity.replica] = nil
        for (replica, vector) in all.sorted(by: { $0.key < $1.key }) {
            var peer = known[replica] ?? PeerStorage.Peer(replica: replica)
            let before = peer
            if own[replica] >= vector[replica] { peer.merged.join(vector) }
            // The writer of a transaction had merged everything that the transaction has seen.
            if let last = try storage.headers.header(Dot(replica, own[replica])) {
                peer.merged.join(last.seen)
                peer.merged.advance(to: last.dot)
            }
            if peer.merged.covers(own) {
                peer.behindSince = nil
            } else if peer.merged != before.merged || peer.behindSince == nil {
                peer.behindSince = now
            }
            if peer != before || known[replica] == nil { try storage.peers.write(peer) }
        }
    }

    /// What the members have merged that have not been away for longer than a lease. A replica that
    /// was removed, or that nobody has admitted where membership is closed, is not waited for.
    /// - Parameters:
    ///   - now: milliseconds since 1970.
    ///   - lease: milliseconds.
    /// - Throws: SQLite errors.
    /// - Complexity: O(replicas)
    func present(at now: Int64, lease: Int64) throws -> [ReplicaID: VersionVector] {
        let members = try storage.members.all()
        return try storage.peers.all().filter {
            !$0.value.isAbsent(at: now, lease: lease) && members.accepts($0.key)
        }.mapValues(\.merged)
    }

    /// What this replica and every present one have merged; parameters as in
    /// ``present(at:lease:)``.
    /// - Throws: SQLite errors.
    /// - Complexity: O(replicas)
    func stableCut(at now: Int64, lease: Int64) throws -> VersionVector {
        Collector.stableCut(
            own: try storage.headers.vector(),
            acknowledged: Array(try present(at: now, lease: lease).values))
    }
}
