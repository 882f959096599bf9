import Foundation
import SyncTesting
import Testing

/// Pushes of more rows than one batch has, and do not wait in memory.
@Suite("Large pushes", .timeLimit(.minutes(10)))
struct LargePushTests {
    private static let sum = "SELECT count(*), sum(id), sum(b), sum(length(a)) FROM item"
    private static let expected = "40000|800020000|119997|8228894\n"

    /// A store of 40,000 rows, some 10 MB, with a remote that has nothing.
    private func withStore(_ body: (Scene, _ shared: String) async throws -> Void) async throws {
        try await Scene.with { scene in
            let shared = scene.folder.path("shared")
            mkdir(shared, 0o755)
            try await scene.sql(
                "a.db",
                """
                PRAGMA journal_mode = wal; CREATE TABLE item(id INTEGER PRIMARY KEY, a, b, c, d, e);
                INSERT INTO item WITH RECURSIVE c(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM c
                  LIMIT 40000) SELECT n, 'a' || n || printf('%.200c', 'x'), n % 7, n / 3.0, 'd', NULL
                  FROM c;
                """)
            try await scene.tool("track", "a.db").expectSuccess()
            try await scene.tool("remote", "add", "a.db", "origin", "dir:" + shared).expectSuccess()
            try await body(scene, shared)
        }
    }

    private func batchCount(in folder: String) -> Int {
        let files = FileManager.default.enumerator(atPath: folder)?.allObjects ?? []
        return files.count { ($0 as? String)?.hasSuffix(".synb") == true }
    }

    /// `synctool push a.db` with a folder for its temporary files.
    private func push(_ scene: Scene, temporary: String) throws -> Child {
        try scene.start(
            "/usr/bin/env", "TMPDIR=" + temporary, Binaries.synctool, "push", "a.db")
    }

    @Test("a push that is killed between two batches is continued by the next one")
    func killed() async throws {
        try await withStore { scene, shared in
            let temporary = scene.folder.path("temporary")
            mkdir(temporary, 0o755)
            let push = try push(scene, temporary: temporary)
            _ = await eventually(within: .seconds(60)) {
                batchCount(in: shared) > 0 || !push.isRunning
            }
            await push.stop()
            #expect(batchCount(in: shared) > 0)
            #expect(try FileManager.default.subpathsOfDirectory(atPath: temporary).isEmpty)
            try await scene.tool("push", "a.db").expectSuccess()
            #expect(batchCount(in: shared) > 2, "it is several batches")
            try await scene.tool("clone", "dir:" + shared, "b.db").expectSuccess()
            for file in ["a.db", "b.db"] {
                #expect(try await scene.sql(file, Self.sum) == Self.expected)
            }
            try await scene.tool("doctor", "b.db").expectSuccess()
        }
    }

    @Test("without room for temporary files nothing is sent, and nothing is lost")
    func noRoom() async throws {
        try await withStore { scene, shared in
            try await scene.withTinyDisk { disk in
                try await scene.tool("status", "a.db").expectSuccess()
                let failed = try await push(scene, temporary: disk).output()
                #expect(failed.status == 75, "\(failed.errors)")
                #expect(
                    failed.errors.contains("temporary file cannot be written"), "\(failed.errors)")
                #expect(failed.errors.contains("No space left"), "\(failed.errors)")
                #expect(failed.errors.contains(disk), "\(failed.errors)")
                #expect(failed.errors.contains("TMPDIR"), "\(failed.errors)")
                #expect(batchCount(in: shared) == 0)
                try await scene.tool("push", "a.db").expectSuccess()
                try await scene.tool("clone", "dir:" + shared, "b.db").expectSuccess()
                #expect(try await scene.sql("b.db", Self.sum) == Self.expected)
            }
        }
    }
}
