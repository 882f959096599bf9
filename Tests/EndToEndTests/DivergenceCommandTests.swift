import Foundation
import SyncTesting
import Testing

/// Replicas that differ although they have merged the same transactions: what the commands say.
@Suite("Divergence at the command line", .timeLimit(.minutes(5)))
struct DivergenceCommandTests {
    /// Two replicas of one store that have exchanged everything.
    private func withPair(
        _ options: [String] = [], _ body: (Scene) async throws -> Void
    ) async throws {
        try await Scene.with { scene in
            let shared = "dir:" + scene.folder.path("shared")
            mkdir(scene.folder.path("shared"), 0o755)
            try await scene.sql(
                "a.db",
                """
                CREATE TABLE note(id INTEGER PRIMARY KEY, body TEXT);
                CREATE TABLE tag(name TEXT PRIMARY KEY);
                INSERT INTO note VALUES (1, 'one'), (2, 'two'); INSERT INTO tag VALUES ('t');
                """)
            try await scene.tool("track", "a.db").expectSuccess()
            try await scene.run(["remote", "add", "a.db", "origin", shared] + options)
                .expectSuccess()
            try await scene.tool("sync", "a.db").expectSuccess()
            if options.isEmpty {
                try await scene.tool("clone", shared, "b.db").expectSuccess()
            } else {
                let secret = ["--passphrase-file", "words"]
                try Data("some words\n".utf8)
                    .write(to: URL(filePath: scene.folder.path("words")))
                let packet = try await scene.run(["key", "share", "a.db"] + secret).expectSuccess()
                try Data(packet.text.utf8)
                    .write(to: URL(filePath: scene.folder.path("packet")))
                try await scene.run(["clone", shared, "b.db", "--key", "packet"] + secret)
                    .expectSuccess()
            }
            for name in ["b.db", "a.db"] { try await scene.tool("sync", name).expectSuccess() }
            try await body(scene)
        }
    }

    /// Changes a row and what merging keeps of it, past the triggers, as a fault of the program
    /// could. Where only one of them was changed, `doctor --mend` restores it from the other.
    private func damage(_ scene: Scene) async throws {
        let drops = try await scene.sql(
            "b.db",
            """
            SELECT 'DROP TRIGGER "' || name || '";' FROM sqlite_schema
            WHERE type = 'trigger' AND tbl_name = 'note'
            """)
        try await scene.sql(
            "b.db",
            """
            \(drops)
            UPDATE note SET body = 'TWO' WHERE id = 2;
            UPDATE syncd_object SET record = CAST(replace(record, 'two', 'TWO') AS BLOB)
            WHERE instr(record, 'two')
            """)
        let mended = try await scene.tool("doctor", "b.db", "--mend")
        #expect(mended.status == 1)
        #expect(
            mended.text.contains("problem: note: what merging keeps of it was changed"),
            "\(mended.text)\(mended.errors)")
    }

    @Test(arguments: [[], ["--encrypt"]])
    func aDifferenceIsToldOnBothSidesUntilItIsGone(options: [String]) async throws {
        try await withPair(options) { scene in
            for name in ["a.db", "b.db"] {
                let status = try await scene.tool("status", name).expectSuccess().text
                #expect(status.contains("equal"), "\(status)")
            }
            try await damage(scene)
            // Each of them finds it by itself, and goes on sending and merging.
            try await scene.sql("b.db", "INSERT INTO tag VALUES ('from b')")
            for name in ["b.db", "a.db", "b.db", "a.db"] { _ = try await scene.tool("sync", name) }
            for name in ["a.db", "b.db"] {
                let synced = try await scene.tool("sync", name)
                #expect(synced.status == 1)
                #expect(
                    synced.errors.contains(
                        "have merged the same transactions and differ in note"),
                    "\(synced.errors)")
                #expect(!synced.errors.contains("differ in note, tag"))
                let status = try await scene.tool("status", name).text
                #expect(status.contains("differs in note") && status.contains("problem: "))
                let checked = try await scene.tool("doctor", name)
                #expect(checked.status == 1 && checked.text.contains("differ in note"))
                #expect(try await scene.sql(name, "SELECT count(*) FROM tag") == "2\n")
            }
            // A write of the same value on the damaged side states the fact again.
            try await scene.sql("a.db", "UPDATE note SET body = 'three' WHERE id = 2")
            for name in ["a.db", "b.db", "a.db"] { _ = try await scene.tool("sync", name) }
            for name in ["a.db", "b.db"] { try await scene.tool("sync", name).expectSuccess() }
            try await scene.tool("doctor", "a.db").expectSuccess()
        }
    }

    @Test func theDaemonLogsADifferenceAndGoesOn() async throws {
        try await withPair { scene in
            try await damage(scene)
            #expect(try await scene.tool("sync", "b.db").status == 1)
            let daemon = try await scene.startDaemon()
            try await scene.tool("track", "a.db").expectSuccess()
            let isLogged = await eventually(within: .seconds(60), every: .milliseconds(50)) {
                daemon.errors.contains("differ in note")
            }
            #expect(isLogged, "\(daemon.errors)")
            let status = try await scene.tool("status", "a.db").expectSuccess().text
            #expect(status.contains("problem: ") && status.contains("differ in note"))
            #expect(!status.contains("failed"), "the remote itself works")
            await daemon.stop()
        }
    }

    @Test func sumsOfAnEncryptedRemoteAreNotReadable() async throws {
        try await withPair(["--encrypt"]) { scene in
            let shared = scene.folder.path("shared")
            let names = try FileManager.default.subpathsOfDirectory(atPath: shared)
                .filter { $0.hasSuffix("/sums") }
            #expect(names.count == 2)
            for name in names {
                let bytes = try Data(contentsOf: URL(filePath: shared + "/" + name))
                #expect(!bytes.starts(with: Array("SYNS".utf8)))
            }
            let again = try await scene.tool("status", "a.db", "--json").expectSuccess().text
            #expect(again.contains("\"different\":[]"), "\(again)")
        }
    }
}
