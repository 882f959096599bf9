import Foundation
import SyncTesting
import Testing
import Varlink

/// A table that one replica has before the others, as a person meets it at the command line.
@Suite("New tables at the command line", .timeLimit(.minutes(5)))
struct NewTableCommandTests {
    /// `a.db` and its clone `b.db`; then `a.db` gets the table `note` with two rows and sends them.
    private func withNewTable(
        _ body: (Scene, String) async throws -> Void
    ) async throws {
        try await Scene.with { scene in
            let shared = "dir:" + scene.folder.path("shared")
            mkdir(scene.folder.path("shared"), 0o755)
            try await scene.sql(
                "a.db", "CREATE TABLE item(id TEXT PRIMARY KEY NOT NULL, a TEXT)")
            try await scene.tool("track", "a.db").expectSuccess()
            try await scene.tool("remote", "add", "a.db", "origin", shared).expectSuccess()
            try await scene.sql("a.db", "INSERT INTO item VALUES ('x', 'a0')")
            try await scene.tool("push", "a.db").expectSuccess()
            try await scene.tool("clone", shared, "b.db").expectSuccess()
            try await scene.sql("a.db", Self.note)
            try await scene.tool("track", "a.db").expectSuccess()
            try await scene.sql("a.db", "INSERT INTO note VALUES (7, 'early'), (3, 'second')")
            try await scene.sql("a.db", "UPDATE item SET a = 'a1'")
            try await scene.tool("sync", "a.db").expectSuccess()
            try await body(scene, shared)
        }
    }

    private static let note = "CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT)"
    private static let rows = "SELECT id, text FROM note ORDER BY id"

    private func expectWaiting(_ output: Child.Output) {
        let words = [
            "2 changes of 'note' wait", "no table 'note'",
            "synctool schema b.db --from origin --apply",
        ]
        for word in words {
            #expect(output.errors.contains(word), "'\(word)' is missing in: \(output.errors)")
        }
    }

    @Test func itsRowsWait_andAreShownOnceItIsTracked() async throws {
        try await withNewTable { scene, shared in
            expectWaiting(try await scene.tool("sync", "b.db").expectSuccess())
            let again = try await scene.tool("sync", "b.db", "--json").expectSuccess()
            let waiting = try JSONParser.parse(again.lines[0])["waiting"]?.array?.first
            #expect(waiting?["entity"]?.string == "note", "\(again.text)")
            #expect(waiting?["changes"]?.integer == 2, "\(again.text)")
            #expect(waiting?["reason"]?.string == "noTable", "\(again.text)")
            #expect(try await scene.sql("b.db", "SELECT a FROM item") == "a1\n")

            let clone = try await scene.tool("clone", shared, "c.db").expectSuccess()
            #expect(!clone.errors.contains("wait"), "it has the schema of now: \(clone.errors)")
            try await scene.sql("b.db", Self.note)
            try await scene.tool("track", "b.db").expectSuccess()
            for name in ["b.db", "c.db"] {
                #expect(try await scene.sql(name, Self.rows) == "3|second\n7|early\n")
                let output = try await scene.tool("sync", name).expectSuccess()
                #expect(!output.errors.contains("wait"), "\(output.errors)")
            }
            try await scene.sql("b.db", "INSERT INTO note(text) VALUES ('from b')")
            for name in ["b.db", "a.db", "c.db"] {
                try await scene.tool("sync", name).expectSuccess()
            }
            let expected = "3|second\n7|early\n8|from b\n"
            for name in ["a.db", "b.db", "c.db"] {
                #expect(try await scene.sql(name, Self.rows) == expected)
            }
        }
    }

    @Test func theDaemonGoesOn_andShowsTheRowsWhenTheTableIsTracked() async throws {
        try await withNewTable { scene, _ in
            let daemon = try await scene.startDaemon()
            do {
                try await scene.tool("track", "b.db").expectSuccess()
                let isMerged = try await eventually(within: .seconds(40), every: .milliseconds(100))
                {
                    try await scene.sql("b.db", "SELECT a FROM item") == "a1\n"
                }
                #expect(isMerged, "\(daemon.errors)")
                try await scene.sql("b.db", Self.note)
                try await scene.tool("track", "b.db").expectSuccess()
                let isShown = try await eventually(within: .seconds(40), every: .milliseconds(100))
                {
                    try await scene.sql("b.db", Self.rows) == "3|second\n7|early\n"
                }
                #expect(isShown, "\(daemon.errors)")
            } catch {
                await daemon.stop()
                throw error
            }
            await daemon.stop()
        }
    }
}
