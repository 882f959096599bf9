import Foundation
import SyncTesting
import Testing

/// Files of a remote that cannot be used, at the command line.
@Suite("Skipped files at the command line", .timeLimit(.minutes(5)))
struct SkippedFileTests {
    private func notes(_ scene: Scene, _ name: String) async throws -> String {
        try await scene.sql(name, "SELECT body FROM note ORDER BY body")
    }

    /// The new replica is made, and a script can see that something is missing in it.
    @Test func aCloneThatSkippedADamagedFileEndsWith65() async throws {
        try await Scene.with { scene in
            let folder = scene.folder.path("shared")
            let shared = "dir:" + folder
            mkdir(folder, 0o755)
            try await scene.sql(
                "a.db",
                """
                CREATE TABLE note(id INTEGER PRIMARY KEY, body TEXT);
                INSERT INTO note VALUES (1, 'one'), (2, 'two');
                """)
            try await scene.tool("track", "a.db").expectSuccess()
            try await scene.tool("remote", "add", "a.db", "origin", shared).expectSuccess()
            try await scene.tool("push", "a.db").expectSuccess()
            func batches() throws -> Set<String> {
                Set(
                    try FileManager.default.subpathsOfDirectory(atPath: folder)
                        .filter { $0.hasSuffix(".synb") })
            }
            let before = try batches()
            try await scene.sql("a.db", "INSERT INTO note VALUES (3, 'three')")
            try await scene.tool("push", "a.db").expectSuccess()
            let newest = try #require(try batches().subtracting(before).first)
            let file = URL(fileURLWithPath: folder + "/" + newest)
            let whole = try Data(contentsOf: file)
            try whole.dropLast(5).write(to: file)
            let clone = try await scene.tool("clone", shared, "b.db")
            #expect(clone.status == 65)
            for words in [
                newest, "what 1 skipped file of the remote held may be missing here",
                "synctool sync b.db",
            ] {
                #expect(clone.errors.contains(words), "\(clone.errors)")
            }
            #expect(try await notes(scene, "b.db") == "one\ntwo\n")
            let other = try await scene.tool("clone", shared, "c.db", "--json")
            #expect(other.status == 65 && other.errors.contains(#""error":"badData""#))
            #expect(other.text.contains("passedOver"), "\(other.text)")
            try whole.write(to: file)
            try await scene.tool("sync", "b.db").expectSuccess()
            #expect(try await notes(scene, "b.db") == "one\nthree\ntwo\n")
        }
    }
}
