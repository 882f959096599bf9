import Foundation
import SyncTesting
import Testing

@Suite("Merge simulation")
struct SimulationTests {
    /// How many seeds; `SYNCD_SEEDS` asks for more. A long run: `swift run -c release syncsim`.
    private static let count =
        ProcessInfo.processInfo.environment["SYNCD_SEEDS"].flatMap { UInt64($0) } ?? 2_000

    @Test("replicas converge and lose nothing, whatever the network does")
    func randomSchedulesConverge() throws {
        var total = MergeSimulation.Tally()
        for seed in 0..<Self.count {
            do {
                total.add(try MergeSimulation.run(seed: seed))
            } catch {
                Issue.record("seed \(seed): \(error)")
            }
        }
        let all = [
            total.commits, total.merges, total.adoptions, total.closes, total.collected,
            total.conflicts, total.revived, total.unified,
        ]
        #expect(all.allSatisfy { $0 > 0 }, "every kind of event happened: \(total)")
    }

    /// Seeds beyond the first ones that found something once.
    private static let finds: [UInt64] = [84, 147, 189, 387, 464, 524, 857, 1071, 1421]

    /// Files cost a hundred times as much as values: a share of the seeds.
    @Test("stores on disk converge and lose nothing, whatever the network does")
    func randomStoresConverge() throws {
        let folder = TestFolder()
        var total = MergeSimulation.Tally()
        let count = max(50, Self.count / 20)
        for seed in Array(0..<count) + Self.finds.filter({ $0 >= count }) {
            do {
                total.add(try StoreSimulation.run(seed: seed, in: folder.path("")))
            } catch {
                Issue.record("seed \(seed): \(error)")
            }
        }
        let all = [total.commits, total.merges, total.refusals, total.closes, total.conflicts]
        #expect(all.allSatisfy { $0 > 0 }, "every kind of event happened: \(total)")
    }
}
