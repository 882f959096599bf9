import SyncTesting
import Testing

@Suite("Merge simulation")
struct SimulationTests {
    /// Seeds beyond the first ones that found something once.
    /// - 29445, 51001: the simulation's CHECK compared texts by bytes, SQLite's by NOCASE: a rename
    ///   made two references equal, and a row that others pin with RESTRICT was shown nevertheless.
    /// - 66638: of several rows that lost their numbers, two got the greatest one.
    private static let finds: [UInt64] = [29_445, 51_001, 66_638]

    /// `SYNCD_SEEDS` asks for more seeds. A long run: `swift run -c release syncsim`.
    @Test("replicas converge and lose nothing, whatever the network does")
    func randomSchedulesConverge() throws {
        var total = MergeSimulation.Tally()
        let count = TestSeed.count(2_000)
        let seeds = Array(0..<count) + Self.finds.filter { $0 >= count }
        for seed in TestSeed.each(of: seeds) {
            do {
                total.add(try MergeSimulation.run(seed: seed.value))
            } catch {
                Issue.record("\(seed): \(error)")
            }
        }
        guard TestSeed.given == nil else { return }
        let all = [
            total.commits, total.merges, total.adoptions, total.closes, total.collected,
            total.conflicts, total.revived, total.unified,
        ]
        #expect(all.allSatisfy { $0 > 0 }, "every kind of event happened: \(total)")
    }
}
