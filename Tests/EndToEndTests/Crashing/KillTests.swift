import Foundation
import SyncTesting
import Testing

/// `kill -9` of writers, daemon and clients at random moments. After each round history equals the
/// data, nothing comes twice, nothing is lost, and every client got what history says.
///
/// `SYNCD_KILL_ROUNDS` rounds of each journal mode; `SYNCD_SEED` repeats a run.
@Suite("Killed processes", .serialized, .timeLimit(.minutes(60)))
struct KillTests {
    private static let rounds =
        ProcessInfo.processInfo.environment["SYNCD_KILL_ROUNDS"].flatMap { Int($0) } ?? 8

    @Test(arguments: ["wal", "delete"])
    func historyEqualsTheDataAfterEveryKill(journalMode: String) async throws {
        let seed = TestSeed.drawn().value
        try await Scene.with { scene in
            let world = CrashWorld(scene, seed: seed)
            var round = 0
            do {
                try await world.start(journalMode: journalMode)
                while round < Self.rounds {
                    round += 1
                    try await world.round(round)
                }
                try await world.checkAtTheEnd()
            } catch {
                Issue.record("SYNCD_SEED=\(seed), \(journalMode), round \(round): \(error)")
            }
            await world.stop()
            let (kills, commits) = (await world.kills, await world.commits)
            print("\(journalMode): \(round) rounds, \(kills) killed, \(commits) transactions")
            #expect(commits > Self.rounds, "the writers were killed before they wrote")
        }
    }
}
