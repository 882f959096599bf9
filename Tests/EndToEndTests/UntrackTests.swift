import Foundation
import Testing

@Suite("Untracking through the command", .timeLimit(.minutes(3)))
struct UntrackTests {
    @Test(arguments: [false, true])
    func dumpIsAsBefore(withDaemon: Bool) async throws {
        try await Scene.with { scene in
            let music = try await scene.makeMusic()
            let before = try await scene.sql(music, ".dump")
            let daemon = withDaemon ? try await scene.startDaemon() : nil
            try await scene.tool("track", music).expectSuccess()
            let tracked = try await scene.sql(music, "SELECT count(*) FROM sqlite_master")
            try await scene.sql(music, "BEGIN; DELETE FROM InvoiceLine; ROLLBACK")
            try await scene.tool("untrack", music).expectSuccess()
            let after = try await scene.sql(music, ".dump")
            await daemon?.stop()
            #expect(after == before)
            #expect(Int(tracked.dropLast()) ?? 0 > 30, "it was tracked in between")
            let listing = try FileManager.default.contentsOfDirectory(atPath: scene.folder.url.path)
            #expect(!listing.contains { $0.hasPrefix("music.db-syncd") })
        }
    }
}
