import Foundation
import SyncTesting
import Testing

/// `synctool migrate`: migrations of other tools, with the triggers out of their way.
@Suite("Migrations of other tools", .timeLimit(.minutes(10)))
struct MigrateCommandTests {
    private func makeStore(_ scene: Scene) async throws {
        try await scene.sql(
            "a.db",
            """
            PRAGMA journal_mode = WAL;
            CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT, extra TEXT);
            CREATE TABLE u(id INTEGER PRIMARY KEY, b);
            INSERT INTO t VALUES (1, 'x', 'e'); INSERT INTO u VALUES (1, 1), (2, 2);
            """)
        try await scene.tool("track", "a.db").expectSuccess()
    }

    private static let sql =
        "ALTER TABLE t DROP COLUMN extra; UPDATE u SET b = 5 WHERE id = 2; INSERT INTO t VALUES (2, 'y')"

    /// With a daemon and without: the net difference is one transaction of the command.
    @Test(arguments: [false, true])
    func theNetDifferenceIsOneTransaction(withDaemon: Bool) async throws {
        try await Scene.with { scene in
            let daemon = withDaemon ? try await scene.startDaemon() : nil
            try await makeStore(scene)
            let plain = try scene.start(Binaries.sqlite3, "a.db", "ALTER TABLE t DROP COLUMN extra")
            #expect(try await plain.output().status != 0, "SQLite refuses it")
            let run = try await scene.tool(
                "migrate", "a.db", "--", "sqlite3", "-bail", "a.db", Self.sql)
            #expect(run.status == 0 && run.text.isEmpty, "\(run.errors)")
            #expect(run.errors.contains("recorded 2 changes as transaction"), "\(run.errors)")
            #expect(run.errors.contains("t: a column was dropped"), "\(run.errors)")
            let history = try await scene.tool("history", "a.db", "--reverse", "--limit", "1")
            for part in [
                "synctool (migrate: sqlite3 -bail a.db ", "[recovered]", "+ t/2", "~ u/2  b",
            ] {
                #expect(history.text.contains(part), "\(part): \(history.text)")
            }
            try await scene.sql("a.db", "UPDATE t SET a = 'z' WHERE id = 1")
            let next = try await scene.tool("history", "a.db", "--reverse", "--limit", "1")
            #expect(next.text.contains("~ t/1  a"), "\(next.text)")
            let doctor = try await scene.tool("doctor", "a.db")
            #expect(doctor.status == 0, "\(doctor.text)")
            await daemon?.stop()
        }
    }

    @Test func theStatusIsThatOfTheCommand() async throws {
        try await Scene.with { scene in
            try await makeStore(scene)
            let failed = try await scene.tool(
                "migrate", "a.db", "--", "sh", "-c", "sqlite3 a.db 'DELETE FROM u'; exit 3")
            #expect(failed.status == 3)
            #expect(failed.errors.contains("status 3; recorded 2 changes"), "\(failed.errors)")
            let killed = try await scene.tool("migrate", "a.db", "--", "sh", "-c", "kill -9 $$")
            #expect(killed.status == 137, "\(killed.errors)")
            #expect(killed.errors.contains("no row was changed"), "\(killed.errors)")
            let none = try await scene.tool("migrate", "a.db")
            #expect(none.status == 64 && none.errors.contains("after --"), "\(none.errors)")
            let unknown = try await scene.tool("migrate", "a.db", "--", "/no/such/program")
            #expect(unknown.status == 127, "\(unknown.errors)")
            let untracked = try await scene.tool("migrate", "b.db", "--", "touch", "ran")
            #expect(untracked.status == 66)
            #expect(!FileManager.default.fileExists(atPath: scene.folder.path("ran")))
        }
    }

    /// While its command lives, nobody repairs the store; then the first process that looks does.
    @Test(arguments: [false, true])
    func aKilledMigrationIsEnded(withDaemon: Bool) async throws {
        try await Scene.with { scene in
            let daemon = withDaemon ? try await scene.startDaemon() : nil
            try await makeStore(scene)
            let script = """
                sqlite3 a.db "UPDATE u SET b = 9" && echo $$ >pid && \
                until [ -e go ]; do sleep 0.02; done; \
                sqlite3 -bail a.db "ALTER TABLE t DROP COLUMN extra" && touch dropped
                """
            let tool = try scene.start(
                Binaries.synctool, ["migrate", "a.db", "--", "sh", "-c", script])
            try #require(
                await eventually(within: .seconds(60)) {
                    FileManager.default.fileExists(atPath: scene.folder.path("pid"))
                })
            await tool.stop()
            // The command is an orphan now; the store still belongs to it.
            let mend = try await scene.tool("doctor", "a.db", "--mend")
            #expect(mend.status == 75 && mend.errors.contains("a migration runs"), "\(mend.errors)")
            for arguments in [["history"], ["history", "--count"], ["history", "--pending"]] {
                let told = try await scene.run(arguments + ["a.db"])
                #expect(told.errors.contains("not all is in the history"), "\(arguments)")
            }
            try Data().write(to: URL(fileURLWithPath: scene.folder.path("go")))
            try #require(
                await eventually(within: .seconds(60)) {
                    FileManager.default.fileExists(atPath: scene.folder.path("dropped"))
                })
            // The daemon does it by itself; a command that looked would do it in its place.
            if withDaemon {
                let triggers =
                    "SELECT count(*) FROM sqlite_schema WHERE name GLOB 'syncd_[0-9]_u_*'"
                #expect(
                    try await eventually(every: .milliseconds(50)) {
                        try await scene.sql("a.db", triggers).hasPrefix("2")
                    })
            } else {
                #expect(
                    try await eventually(every: .milliseconds(50)) {
                        try await scene.tool("history", "a.db").text.contains("migrate: sh")
                    })
            }
            let history = try await scene.tool("history", "a.db")
            for part in ["migrate: sh -c", "[recovered]", "~ u/1  b", "~ u/2  b"] {
                #expect(history.text.contains(part), "\(part): \(history.text)")
            }
            #expect(try await scene.tool("doctor", "a.db").status == 0)
            await daemon?.stop()
        }
    }
}
