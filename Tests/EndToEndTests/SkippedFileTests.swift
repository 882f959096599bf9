import Foundation
import SyncTesting
import Testing

/// Files of a remote that cannot be used, at the command line.
@Suite("Skipped files at the command line", .timeLimit(.minutes(5)))
struct SkippedFileTests {
    private func notes(_ scene: Scene, _ name: String) async throws -> String {
        try await scene.sql(name, "SELECT body FROM note ORDER BY body")
    }

    /// A folder with what `a.db` has pushed.
    private struct Shared {
        let url: String
        private let folder: String

        init(_ scene: Scene) async throws {
            folder = scene.folder.path("shared")
            url = "dir:" + folder
            mkdir(folder, 0o755)
            try await scene.sql(
                "a.db",
                """
                CREATE TABLE note(id INTEGER PRIMARY KEY, body TEXT);
                INSERT INTO note VALUES (1, 'one'), (2, 'two');
                """)
            try await scene.tool("track", "a.db").expectSuccess()
            try await scene.tool("remote", "add", "a.db", "origin", url).expectSuccess()
            try await scene.tool("push", "a.db").expectSuccess()
        }

        private func batches() throws -> Set<String> {
            Set(
                try FileManager.default.subpathsOfDirectory(atPath: folder)
                    .filter { $0.hasSuffix(".synb") })
        }

        /// The batch of a third row, after it was pushed.
        func third(_ scene: Scene) async throws -> (name: String, file: URL, content: Data) {
            let before = try batches()
            try await scene.sql("a.db", "INSERT INTO note(id, body) VALUES (3, 'three')")
            try await scene.tool("push", "a.db").expectSuccess()
            let name = try #require(try batches().subtracting(before).first)
            let file = URL(fileURLWithPath: folder + "/" + name)
            return (name, file, try Data(contentsOf: file))
        }
    }

    /// The new replica is made, and a script can see that something is missing in it.
    @Test func aCloneThatSkippedADamagedFileEndsWith65() async throws {
        try await Scene.with { scene in
            let shared = try await Shared(scene)
            let (newest, file, whole) = try await shared.third(scene)
            try whole.dropLast(5).write(to: file)
            let clone = try await scene.tool("clone", shared.url, "b.db")
            #expect(clone.status == 65)
            for words in [
                newest, "what 1 skipped file of the remote held may be missing here",
                "synctool sync b.db",
            ] {
                #expect(clone.errors.contains(words), "\(clone.errors)")
            }
            #expect(try await notes(scene, "b.db") == "one\ntwo\n")
            let other = try await scene.tool("clone", shared.url, "c.db", "--json")
            #expect(other.status == 65 && other.errors.contains(#""error":"badData""#))
            #expect(other.text.contains("passedOver"), "\(other.text)")
            try whole.write(to: file)
            try await scene.tool("sync", "b.db").expectSuccess()
            #expect(try await notes(scene, "b.db") == "one\nthree\ntwo\n")
        }
    }

    /// A pull that skips what another replica wrote is no success, and the store remembers it.
    @Test(arguments: ["pull", "sync"])
    func anExchangeThatSkippedADamagedFileEndsWith65(_ command: String) async throws {
        try await Scene.with { scene in
            let shared = try await Shared(scene)
            try await scene.tool("clone", shared.url, "b.db").expectSuccess()
            let (newest, file, whole) = try await shared.third(scene)
            try (whole.prefix(20) + Data(repeating: 0xFF, count: whole.count - 20)).write(to: file)
            let exchange = try await scene.tool(command, "b.db")
            #expect(exchange.status == 65, "\(exchange.text)\(exchange.errors)")
            for words in [newest, "may be missing here", "replaces it"] {
                #expect(exchange.errors.contains(words), "\(exchange.errors)")
            }
            let status = try await scene.tool("status", "b.db")
            #expect(
                (status.text + status.errors).contains("the last exchange was not complete"),
                "\(status.text)\(status.errors)")
            // To the one who wrote it nothing is missing, and it writes it again.
            try await scene.tool("sync", "a.db").expectSuccess()
            try await scene.tool(command, "b.db").expectSuccess()
            #expect(try await notes(scene, "b.db") == "one\nthree\ntwo\n")
            let after = try await scene.tool("status", "b.db")
            #expect(!(after.text + after.errors).contains("not complete"))
        }
    }

    @Test func whatANewerVersionWroteIsNamedWithWhatToDo() async throws {
        try await Scene.with { scene in
            let shared = try await Shared(scene)
            try await scene.tool("clone", shared.url, "b.db").expectSuccess()
            let (_, file, whole) = try await shared.third(scene)
            var newer = whole
            newer[newer.startIndex + 4] = 99
            try newer.write(to: file)
            let pull = try await scene.tool("pull", "b.db")
            #expect(pull.status == 1, "\(pull.errors)")
            #expect(pull.errors.contains("version 99"), "\(pull.errors)")
            #expect(pull.errors.contains("Update syncd on this machine"), "\(pull.errors)")
        }
    }

    /// What the writer sent again has another name by then: the damaged file would be told forever.
    @Test func theWriterReplacesADamagedFileThatIsNotItsLast() async throws {
        try await Scene.with { scene in
            let shared = try await Shared(scene)
            try await scene.tool("clone", shared.url, "b.db").expectSuccess()
            let (_, file, whole) = try await shared.third(scene)
            try await scene.sql("a.db", "INSERT INTO note VALUES (4, 'four')")
            try await scene.tool("push", "a.db").expectSuccess()
            try whole.dropLast(5).write(to: file)
            #expect(try await scene.tool("sync", "b.db").status == 65)
            try await scene.tool("sync", "a.db").expectSuccess()
            try await scene.tool("sync", "b.db").expectSuccess()
            #expect(try await notes(scene, "b.db") == "four\none\nthree\ntwo\n")
        }
    }

    @Test func aFileThatNoReplicaNamedSoIsNoLack() async throws {
        try await Scene.with { scene in
            let shared = try await Shared(scene)
            try await scene.tool("clone", shared.url, "b.db").expectSuccess()
            let (_, file, whole) = try await shared.third(scene)
            let folder = file.deletingLastPathComponent()
            try whole.prefix(9).write(to: folder.appending(path: "._" + file.lastPathComponent))
            let pull = try await scene.tool("pull", "b.db").expectSuccess()
            #expect(pull.errors.contains("skipped"), "\(pull.errors)")
        }
    }

    /// A row that the copy of the store lacks would be there twice, for good.
    @Test func nothingIsJoinedWithAStoreThatCannotBeReadWhole() async throws {
        try await Scene.with { scene in
            let shared = try await Shared(scene)
            let (newest, file, whole) = try await shared.third(scene)
            try whole.dropLast(5).write(to: file)
            try await scene.sql(
                "own.db",
                """
                CREATE TABLE note(id INTEGER PRIMARY KEY, body TEXT);
                INSERT INTO note VALUES (1, 'one'), (2, 'two'), (3, 'three');
                """)
            try await scene.tool("track", "own.db").expectSuccess()
            let join = try await scene.tool(
                "remote", "add", "own.db", "origin", shared.url, "--join", "by-key")
            #expect(join.status == 65, "\(join.text)\(join.errors)")
            #expect(join.errors.contains(newest), "\(join.errors)")
            #expect(try await !scene.tool("remote", "list", "own.db").text.contains("origin"))
            try whole.write(to: file)
            try await scene.tool(
                "remote", "add", "own.db", "origin", shared.url, "--join", "by-key"
            ).expectSuccess()
            try await scene.tool("sync", "own.db").expectSuccess()
            #expect(try await notes(scene, "own.db") == "one\nthree\ntwo\n")
        }
    }

    @Test func aSchemaIsNotCalledThatOfTheStoreWhereNotAllWasRead() async throws {
        try await Scene.with { scene in
            let shared = try await Shared(scene)
            try await scene.tool("clone", shared.url, "b.db").expectSuccess()
            try await scene.tool("alter", "a.db", "ALTER TABLE note ADD COLUMN extra TEXT")
                .expectSuccess()
            let (_, file, whole) = try await shared.third(scene)
            try whole.dropLast(5).write(to: file)
            let schema = try await scene.tool("schema", "b.db", "--from", "origin", "--apply")
            #expect(schema.status == 65, "\(schema.text)\(schema.errors)")
            #expect(!schema.text.contains("the schema of the store\n"), "\(schema.text)")
            try whole.write(to: file)
            try await scene.tool("schema", "b.db", "--from", "origin", "--apply").expectSuccess()
            #expect(try await notes(scene, "b.db") == "one\nthree\ntwo\n")
        }
    }
}
