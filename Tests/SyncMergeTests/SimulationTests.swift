import SyncTesting
import Testing

@Suite("Merge simulation")
struct SimulationTests {
    /// `SYNCD_SEEDS` asks for more seeds. A long run: `swift run -c release syncsim`.
    @Test("replicas converge and lose nothing, whatever the network does")
    func randomSchedulesConverge() throws {
        var total = MergeSimulation.Tally()
        for seed in TestSeed.first(2_000) {
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
