/// Purges of the history of replicas, whatever of it is recorded as facts.
///
/// They are frequent, because the newest transaction stays: of two that are not recorded the first
/// one is at stake. Their random numbers are their own, so that a schedule is the same without
/// them.
struct RandomPurges {
    private var random: SeededRandom

    /// Draws whether a schedule has purges.
    init?(seed: UInt64) {
        var random = SeededRandom(seed: seed &+ 0x13_0000_0000)
        guard random.chance(0.4) else { return nil }
        self.random = random
    }

    /// Purges some of the replicas; returns how many transactions went.
    mutating func step(_ stores: [SimulatedStore]) throws -> Int {
        var count = 0
        for store in stores where random.chance(0.7) {
            count += try store.purge(toBytes: random.pick([nil, 1, 500]))
        }
        return count
    }
}
