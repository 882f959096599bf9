import GRDB
import SyncClient
import Testing

@Suite(.timeLimit(.minutes(3))) struct BridgeTests {
    @Test func observationsOfGRDBSeeTheCommitsOfOtherProcesses() async throws {
        try await Scene.with { scene in
            let file = try await scene.makeMusic()
            let music = scene.folder.path(file)
            let daemon = try await scene.startDaemon()
            try await scene.tool("track", music).expectSuccess()
            var configuration = Configuration()
            configuration.busyMode = .timeout(5)
            let queue = try DatabaseQueue(path: music, configuration: configuration)
            let client = StoreClient(socket: scene.socket)
            defer { client.close() }
            let bridge = Task { try await queue.observeForeignCommits(of: music, through: client) }
            let names = ValueObservation.tracking {
                try String.fetchOne($0, sql: "SELECT Name FROM Artist WHERE ArtistId = 1") ?? ""
            }.removeDuplicates().values(in: queue)
            let writer = Task {
                for number in 1...200 {
                    try await scene.sql(
                        music, "UPDATE Artist SET Name = 'seen \(number)' WHERE ArtistId = 1")
                    try await Task.sleep(for: .milliseconds(20))
                }
            }
            var seen = 0
            for try await name in names {
                if name.hasPrefix("seen") { seen += 1 }
                if seen == 5 { break }
            }
            writer.cancel()
            bridge.cancel()
            _ = try? await writer.value
            do { try await bridge.value } catch is CancellationError {}
            await daemon.stop()
            #expect(seen == 5)
        }
    }
}
