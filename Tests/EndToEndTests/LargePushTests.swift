import Foundation
import SyncTesting
import Testing

/// Pushes of so many rows that they are several batches.
@Suite("Large pushes", .timeLimit(.minutes(10)))
struct LargePushTests {
    @Test("a push that is killed between two batches is continued by the next one")
    func killed() async throws {
        try await Scene.with { scene in
            let shared = scene.folder.path("shared")
            mkdir(shared, 0o755)
            try await scene.sql(
                "a.db",
                """
                PRAGMA journal_mode = wal; CREATE TABLE item(id INTEGER PRIMARY KEY, a, b, c, d, e);
                INSERT INTO item WITH RECURSIVE c(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM c
                  LIMIT 40000) SELECT n, 'a' || n, n % 7, n / 3.0, 'd', NULL FROM c;
                """)
            try await scene.tool("track", "a.db").expectSuccess()
            try await scene.tool("remote", "add", "a.db", "origin", "dir:" + shared).expectSuccess()
            let push = try scene.start(Binaries.synctool, "push", "a.db")
            func batchCount() -> Int {
                let files = FileManager.default.enumerator(atPath: shared)?.allObjects ?? []
                return files.count { ($0 as? String)?.hasSuffix(".synb") == true }
            }
            _ = await eventually(within: .seconds(60)) { batchCount() > 0 || !push.isRunning }
            await push.stop()
            #expect(batchCount() > 0)
            try await scene.tool("push", "a.db").expectSuccess()
            #expect(batchCount() > 2, "it is several batches")
            try await scene.tool("clone", "dir:" + shared, "b.db").expectSuccess()
            for file in ["a.db", "b.db"] {
                let sum = "SELECT count(*), sum(id), sum(b), sum(length(a)) FROM item"
                #expect(try await scene.sql(file, sum) == "40000|800020000|119997|228894\n")
            }
            try await scene.tool("doctor", "b.db").expectSuccess()
        }
    }
}
