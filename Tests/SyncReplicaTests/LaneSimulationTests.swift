import SyncReplica
import SyncTesting
import Testing

@Suite("Rules of the fast lane")
struct LaneSimulationTests {
    /// A long run: `swift run -c release syncsim --kind files --lane --schedules plain --count 1000`.
    @Test("what the rules let through is shown as it is stated, and changes no other row")
    func eligibleObjects() throws {
        let folder = try TemporaryFolder()
        let lane = try tally(ofSeed: 2, in: folder.path)
        #expect(lane.eligible > 0 && lane.wholeSlices > 0)
        #expect(lane.objects == lane.eligible + lane.refusals.values.reduce(0, +))
    }

    /// The whole state is compared in other simulations: here that takes most of the time.
    private func tally(ofSeed seed: UInt64, in folder: String) throws -> LaneTally {
        try StoreSimulation.$isVerifying.withValue(false) {
            try StoreSimulation.$isCheckingLane.withValue(true) {
                try StoreSimulation.run(seed: seed, schedules: .plain, in: folder).lane
            }
        }
    }
}
