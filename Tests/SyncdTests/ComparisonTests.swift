import Foundation
import SyncClient
import SyncCore
import SyncTesting
import Testing

/// The daemon compares all rows from time to time.
@Suite(.timeLimit(.minutes(3))) struct ComparisonTests {
    @Test func writesWithTriggersSwitchedOffAreFoundInTime() async throws {
        let directory = try TemporaryFolder()
        try "compare: 1s".write(
            toFile: directory.file("syncd.yaml"), atomically: true, encoding: .utf8)
        let daemon = try await TestDaemon(in: directory)
        let store = try await daemon.makeStore(rows: 700)
        let seen = Collector(daemon.client.subscribe(store))
        try await seen.begun()
        let writer = try PlainConnection(store)
        try writer.withoutTriggers {
            try writer.run("UPDATE Album SET Title = 'unseen' WHERE AlbumId = 600")
        }
        try await eventually("it is told; log: \(daemon.log)") {
            seen.objects.contains("Album/600")
        }
        #expect(seen.transactions.last?.flags.contains(.recovered) == true)
    }
}
