import SyncValues

/// Keeps a replica's own batches at a remote few and small in sum: after many small pushes one
/// batch takes the place of many.
///
/// Invariants
/// - What is new is there, whole and read back, before anything old goes. Whoever is killed in
///   between leaves both; the next run removes what is needless then.
/// - Nobody is cut off, acknowledged or not: a new batch starts no later than any of those that it
///   replaces and leads at least as far, so whoever could merge one of them can merge it.
/// - Only own batches are looked at, and none that leads further than what is here.
///
/// Batches are replaced by size, as in a logarithmic merge: the newest ones, and older ones while
/// they are not much larger than these together. So each byte is written anew O(log n) times, and
/// the sizes of what remains grow towards the old end, where at last a snapshot stands.
struct Compaction<Local: Replica, Peer: Remote>: Sendable {
    private let replica: Local
    private let remote: Peer

    init(_ replica: Local, _ remote: Peer) {
        self.replica = replica
        self.remote = remote
    }

    /// Replaces batches where there are too many.
    /// - Returns: how many were removed.
    /// - Throws: what the remote and the replica throw. Nothing is lost then.
    func run() async throws -> Int {
        let own = try await remote.ownBatches(ifMoreThan: CompactionPlan.filesMax)
        guard !own.isEmpty else { return 0 }
        let acknowledged = try await acknowledged()
        let plan = CompactionPlan(own, upTo: try await replica.vector)
        var removed = try await remove(plan.needless, for: plan.kept + plan.replaced, acknowledged)
        guard !plan.replaced.isEmpty else { return removed }
        for batch in try await replica.batches(since: plan.from) { try await remote.append(batch) }
        let old = Set(own.map(\.name))
        let new = try await remote.ownBatches(ifMoreThan: 0).filter { !old.contains($0.name) }
        removed += try await remove(plan.replaced, for: new, acknowledged)
        return removed
    }

    /// Removes what others lead past: those are read through before. One of them that is damaged
    /// goes instead; what the head then lacks, the next push sends again.
    private func remove(
        _ items: [BatchCatalog.Item], for others: [BatchCatalog.Item],
        _ acknowledged: [VersionVector]
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
        going += CompactionPlan.going(
            items.filter { path.reach(since: $0.envelope.from).covers($0.envelope.upTo) },
            acknowledged)
        try await remote.remove(going)
        return going.count
    }

    /// What the other replicas that use the remote have merged.
    private func acknowledged() async throws -> [VersionVector] {
        let own = try await replica.replicaID
        return try await remote.acknowledged().filter { $0.key != own }.map(\.value)
    }
}

/// Which of a replica's own batches make room for one.
struct CompactionPlan: Sendable, Hashable {
    /// With more batches than this there is something to do: each pull and push opens all of them.
    /// Fewer files are more work for whoever carries the folder, because more bytes are new.
    static let filesMax = 64
    /// So many replaced batches stay for those who lack them alone and would have to fetch the
    /// large one: until the next time.
    static let spareMax = 24
    /// An older batch is replaced with the newer ones when it is not larger than they are together,
    /// so many times over.
    private static let growth = 2
    /// The newest batches are replaced together, whatever their sizes, while each is below this.
    private static let smallBytes = 262_144
    /// Facts that replicas put into one batch: more batches come of more.
    private static let factsEach = 100_000

    /// Batches that another one makes needless.
    let needless: [BatchCatalog.Item]
    /// Batches that stay.
    let kept: [BatchCatalog.Item]
    /// Batches that one from ``from`` on takes the place of, oldest first; empty: none.
    let replaced: [BatchCatalog.Item]
    /// Where the new batch has to start.
    let from: VersionVector

    /// - Parameter vector: what is here: a batch that leads further is left alone.
    /// - Complexity: O(n²) in the batches.
    init(_ own: [BatchCatalog.Item], upTo vector: VersionVector) {
        var whole = own.filter { vector.covers($0.envelope.upTo) }
        var needless: [BatchCatalog.Item] = []
        for item in whole where whole.contains(where: { $0.makesNeedless(item) }) {
            whole.removeAll { $0 == item }
            needless.append(item)
        }
        self.needless = needless
        // Names begin with how far a batch leads its sender.
        whole.sort { $0.name < $1.name }
        var start = whole.count
        var bytes = 0
        while start > 0 {
            let next = whole[start - 1].envelope.payloadBytes
            let isSmall = whole.count - start < Self.filesMax / 2 && next < Self.smallBytes
            guard bytes == 0 || isSmall || next <= Self.growth * bytes else { break }
            bytes += next
            start -= 1
        }
        let new = whole[start...].reduce(1) {
            $0 + $1.envelope.factCount / Self.factsEach
        }
        guard whole.count - start >= max(Self.filesMax / 2, 2 * new) else {
            (kept, replaced, from) = (whole, [], VersionVector())
            return
        }
        kept = Array(whole[..<start])
        replaced = Array(whole[start...])
        from = replaced.dropFirst().reduce(replaced[0].envelope.from) {
            $0.meet($1.envelope.from)
        }
    }

    /// Of batches that were replaced, those to remove now: all that everybody has merged, and of
    /// the others all but the newest few.
    static func going(
        _ replaced: [BatchCatalog.Item], _ acknowledged: [VersionVector]
    ) -> [BatchCatalog.Item] {
        let lacking = replaced.filter { item in
            acknowledged.contains { !$0.covers(item.envelope.upTo) }
        }
        let spared = Set(lacking.suffix(spareMax))
        return replaced.filter { !spared.contains($0) }
    }
}
