import SyncMerge
import SyncReplica

/// Snapshots with gaps that leave out what their sender has, signed with its key.
///
/// One replica of a schedule makes them. Each goes to one receiver, and leaves out what that one
/// has merged, as objects or as single facts: what it never had it could not miss. So in a group in
/// which a third member can contradict nothing may be lost, and the replicas end equal.
struct LyingSnapshots {
    /// A snapshot, and the position of the replica that it goes to.
    struct Lie {
        let receiver: Int
        let batch: SimulatedBatch
    }

    /// With fewer there is no third member.
    private static let replicasMin = 3

    private let liar: Int
    private var random: SeededRandom

    /// Draws whether one of `count` replicas lies.
    /// - Returns: nil: none in this seed.
    init?(seed: UInt64, count: Int) {
        var random = SeededRandom(seed: seed &+ 0x13_0000_0000)
        guard count >= Self.replicasMin, random.chance(0.5) else { return nil }
        liar = random.below(count)
        self.random = random
    }

    /// Draws whether the replica lies now.
    /// - Throws: what the replicas throw.
    mutating func step(_ stores: [SimulatedStore]) throws -> Lie? {
        guard random.chance(0.2) else { return nil }
        let receiver = random.below(stores.count)
        guard receiver != liar else { return nil }
        let batches = try stores[liar].replica.batches(since: VersionVector())
        guard batches.count == 1, let first = batches.first else { return nil }
        var batch = try BatchDecoder.decode(first)
        let known = try stores[receiver].replica.vector
        guard leaveOut(of: &batch, knownTo: known) else { return nil }
        batch.collected = batch.upTo
        batch.hasGaps = true
        batch.sums = nil
        let bytes = try BatchEncoder.encode(batch, signing: try key(of: stores[liar]))
        return try SimulatedBatch.all([bytes]).first.map { Lie(receiver: receiver, batch: $0) }
    }

    /// Takes out objects, or single facts; false when there is nothing to take out.
    private mutating func leaveOut(of batch: inout Batch, knownTo known: VersionVector) -> Bool {
        let unknown = Set(batch.facts.filter { !known.covers($0.dot) }.compactMap(\.object))
        let candidates = Set(batch.facts.compactMap(\.object)).subtracting(unknown).sorted()
        guard !candidates.isEmpty else { return false }
        let share = random.pick([0.3, 1])
        let chosen = Set(candidates.filter { _ in random.chance(share) })
        let areWhole = random.chance(0.7)
        batch.facts.removeAll { fact in
            fact.object.map(chosen.contains) == true && (areWhole || random.chance(0.5))
        }
        return !chosen.isEmpty
    }

    private func key(of store: SimulatedStore) throws -> SigningKey? {
        let own = "X'\(store.replica.replicaID)'"
        let rows = try store.database.run("SELECT secret FROM syncd_signer WHERE replica = \(own)")
        guard case .blob(let secret)? = rows?.first?.first else { return nil }
        return SigningKey(bytes: secret)
    }
}
