import Foundation
import SyncTesting
import Testing
import Varlink

/// The schema of a store at the command line: what a clone has, and what `schema` shows and applies,
/// over each kind of remote.
@Suite("The schema at the command line", .timeLimit(.minutes(5)))
struct SchemaCommandTests {
    private static let schema = """
        CREATE TABLE note(id INTEGER PRIMARY KEY, body TEXT);
        CREATE TABLE total(id INTEGER PRIMARY KEY, n INTEGER NOT NULL DEFAULT 0);
        CREATE VIRTUAL TABLE fts USING fts5(body, content='note', content_rowid='id');
        CREATE TRIGGER fts_i AFTER INSERT ON note BEGIN
          INSERT INTO fts(rowid, body) VALUES (new.id, new.body); END;
        CREATE TRIGGER counts AFTER INSERT ON note BEGIN UPDATE total SET n = n + 1; END;
        CREATE VIEW newest AS SELECT * FROM note ORDER BY id DESC;
        PRAGMA user_version = 4;
        INSERT INTO total(id) VALUES (1); INSERT INTO note VALUES (1, 'one')
        """

    private func statements(_ scene: Scene, _ name: String) async throws -> Set<String> {
        let text = try await scene.sql(
            name,
            """
            SELECT replace(sql, char(10), ' ') FROM sqlite_schema WHERE sql IS NOT NULL
              AND tbl_name NOT LIKE 'syncd_%' AND name NOT LIKE 'syncd_%'
            """)
        return Set(text.split(separator: "\n").map(String.init))
    }

    /// Clones a store, migrates it, and applies the migration to the clone.
    private func clonesAndApplies(
        _ scene: Scene, url: String, pushes: Bool, tool: ([String]) async throws -> Child.Output
    ) async throws {
        let clone = try await tool(["clone", url, "b.db", "--json"])
        let line = try JSONParser.parse(try clone.expectSuccess().lines[0])
        #expect(line["notMade"]?.array?.first?["name"]?.string == "counts", "\(line)")
        #expect(clone.status == 0)
        let missing = try await statements(scene, "a.db")
            .subtracting(try await statements(scene, "b.db"))
        #expect(missing.count == 1 && missing.first?.contains("counts") ?? false)
        #expect(try await scene.sql("b.db", "SELECT rowid FROM fts WHERE fts MATCH 'one'") == "1\n")
        #expect(try await scene.sql("b.db", "PRAGMA user_version") == "4\n")

        try await tool([
            "alter", "a.db", "ALTER TABLE note ADD COLUMN at TEXT; CREATE INDEX na ON note(at)",
        ])
        .expectSuccess()
        try await scene.sql("a.db", "UPDATE note SET at = 'now'")
        if pushes { try await tool(["push", "a.db"]).expectSuccess() }
        let sync = try await tool(["sync", "b.db"])
        #expect(
            sync.errors.contains("synctool schema b.db --from origin --apply"), "\(sync.errors)")
        let shown = try await tool(["schema", "b.db"]).expectSuccess().text
        #expect(shown.contains("ADD COLUMN at TEXT") && shown.contains("CREATE INDEX na"))
        let applied = try await tool([
            "schema", "b.db", "--from", "origin", "--apply", "--allow-schema",
        ])
        #expect(try applied.expectSuccess().text.contains("3 changes applied"))
        #expect(applied.errors.contains("UPDATE total SET n = n + 1"), "the text is shown")
        #expect(try await scene.sql("b.db", "SELECT at FROM note") == "now\n")
        #expect(try await statements(scene, "b.db") == (try await statements(scene, "a.db")))
        let equal = try await tool(["schema", "b.db"]).expectSuccess().text
        #expect(equal.contains("has the schema of the store"), "\(equal)")
    }

    private func makeStore(_ scene: Scene) async throws {
        try await scene.sql("a.db", Self.schema)
        try await scene.tool("track", "a.db").expectSuccess()
        mkdir(scene.folder.path("shared"), 0o755)
    }

    /// A store and a clone of it, with a folder between them.
    private func makePair(_ scene: Scene) async throws {
        try await makeStore(scene)
        let url = "dir:" + scene.folder.path("shared")
        try await scene.tool("remote", "add", "a.db", "origin", url).expectSuccess()
        try await scene.tool("sync", "a.db").expectSuccess()
        try await scene.tool("clone", url, "b.db").expectSuccess()
    }

    @Test func aFolder() async throws {
        try await Scene.with { scene in
            try await makeStore(scene)
            let url = "dir:" + scene.folder.path("shared")
            try await scene.tool("remote", "add", "a.db", "origin", url).expectSuccess()
            try await scene.tool("push", "a.db").expectSuccess()
            try await clonesAndApplies(scene, url: url, pushes: true) { try await scene.run($0) }
            // A new clone has the schema of now, from the same folder.
            try await scene.tool("clone", "--allow-schema", url, "c.db").expectSuccess()
            #expect(try await statements(scene, "c.db") == (try await statements(scene, "a.db")))
        }
    }

    @Test func anEncryptedFolder() async throws {
        try await Scene.with { scene in
            try await makeStore(scene)
            let url = "dir:" + scene.folder.path("shared")
            try await scene.tool("remote", "add", "a.db", "origin", url, "--encrypt")
                .expectSuccess()
            try await scene.tool("push", "a.db").expectSuccess()
            let identity = try await scene.tool("key", "identity").expectSuccess().text
            let packet = try await scene.tool(
                "key", "share", "a.db", "--to",
                identity.trimmingCharacters(in: .whitespacesAndNewlines)
            ).expectSuccess().text
            try Data(packet.utf8).write(to: scene.folder.url.appendingPathComponent("packet"))
            try await clonesAndApplies(scene, url: url, pushes: true) { arguments in
                try await scene.run(
                    arguments[0] == "clone"
                        ? ["clone", "--key", "packet"] + arguments.dropFirst() : arguments)
            }
        }
    }

    @Test func anotherMachine() async throws {
        try await Scene.with { scene in
            try await makeStore(scene)
            try await scene.tool("upgrade", "a.db").expectSuccess()
            let shell = "#!/bin/sh\nfor last; do :; done\nexec sh -c \"$last\"\n"
            try Data(shell.utf8).write(to: scene.folder.url.appendingPathComponent("ssh"))
            try scene.chmod("ssh", 0o755)
            var environment = scene.environment
            environment["SYNCD_SSH"] = scene.folder.path("ssh")
            environment["PATH"] =
                URL(filePath: Binaries.synctool).deletingLastPathComponent().path + ":/usr/bin:/bin"
            let url = "ssh://host" + scene.folder.path("a.db")
            try await clonesAndApplies(scene, url: url, pushes: false) { arguments in
                try await Child(
                    Binaries.synctool, arguments, in: scene.folder, environment: environment
                ).output()
            }
        }
    }

    /// A generated column can be added once the column that it is computed from is there.
    @Test func whatDependsOnWhatIsMissingIsMadeByTheSameCommand() async throws {
        try await Scene.with { scene in
            try await makePair(scene)
            try await scene.tool(
                "alter", "a.db",
                "ALTER TABLE total ADD COLUMN m INTEGER; ALTER TABLE total ADD COLUMN g AS (m * 2)"
            ).expectSuccess()
            try await scene.sql("a.db", "UPDATE total SET m = 21")
            try await scene.tool("sync", "a.db").expectSuccess()
            try await scene.tool("sync", "b.db").expectSuccess()
            let applied = try await scene.tool("schema", "b.db", "--apply", "--allow-schema")
                .expectSuccess()
            #expect(applied.text.contains("AS (m * 2)"), "\(applied)")
            #expect(try await scene.sql("b.db", "SELECT m, g FROM total") == "21|42\n")
        }
    }

    @Test func whatADroppedColumnLeavesIsToldOnceAndByStatus() async throws {
        try await Scene.with { scene in
            try await makePair(scene)
            try await scene.tool("alter", "b.db", "ALTER TABLE note ADD COLUMN gone TEXT")
                .expectSuccess()
            try await scene.sql("b.db", "UPDATE note SET gone = 'x'")
            try await scene.tool("sync", "b.db").expectSuccess()
            try await scene.tool("alter", "b.db", "ALTER TABLE note DROP COLUMN gone")
                .expectSuccess()
            try await scene.tool("sync", "b.db").expectSuccess()
            let first = try await scene.tool("sync", "a.db").expectSuccess()
            #expect(first.errors.contains("'gone' was dropped"), "\(first.errors)")
            let second = try await scene.tool("sync", "a.db").expectSuccess()
            #expect(!second.errors.contains("gone"), "\(second.errors)")
            let status = try await scene.tool("status", "a.db", "--direct").expectSuccess()
            #expect(status.text.contains("'gone' was dropped"), "\(status.text)")
        }
    }

    @Test func aCloneSaysThatTheSchemaIsNotKnown() async throws {
        try await Scene.with { scene in
            try await scene.sql(
                "a.db", "CREATE TABLE t(id INTEGER PRIMARY KEY); CREATE VIEW v AS SELECT 1")
            try await scene.tool("track", "a.db").expectSuccess()
            let shell = "#!/bin/sh\nfor last; do :; done\nexec sh -c \"$last\"\n"
            try Data(shell.utf8).write(to: scene.folder.url.appendingPathComponent("ssh"))
            try scene.chmod("ssh", 0o755)
            var environment = scene.environment
            environment["SYNCD_SSH"] = scene.folder.path("ssh")
            environment["PATH"] =
                URL(filePath: Binaries.synctool).deletingLastPathComponent().path + ":/usr/bin:/bin"
            // A store that has no remote of its own does not sign.
            let clone = try await Child(
                Binaries.synctool, ["clone", "ssh://host" + scene.folder.path("a.db"), "b.db"],
                in: scene.folder, environment: environment
            ).output()
            try clone.expectSuccess()
            #expect(clone.errors.contains("synctool upgrade DB"), "\(clone.errors)")
            #expect(clone.errors.contains("synctool schema b.db --from origin --apply"))
        }
    }

    /// The folder has batches from before the renames: a new clone calls all as these do.
    @Test func aCloneAfterRenamesHasEachRowInItsTable() async throws {
        try await Scene.with { scene in
            try await scene.sql(
                "a.db",
                """
                CREATE TABLE m(k TEXT PRIMARY KEY, v TEXT, w TEXT);
                CREATE TABLE n(k TEXT PRIMARY KEY, v TEXT, w TEXT);
                INSERT INTO m VALUES ('m', 'v', 'w'); INSERT INTO n VALUES ('n', 'v', 'w')
                """)
            try await scene.tool("track", "a.db").expectSuccess()
            mkdir(scene.folder.path("shared"), 0o755)
            let url = "dir:\(scene.folder.path("shared"))"
            try await scene.tool("remote", "add", "a.db", "origin", url).expectSuccess()
            try await scene.tool("sync", "a.db").expectSuccess()
            try await scene.tool("clone", url, "old.db").expectSuccess()
            try await scene.tool(
                "alter", "a.db",
                """
                ALTER TABLE m RENAME TO t; ALTER TABLE n RENAME TO m; ALTER TABLE t RENAME TO n;
                ALTER TABLE n RENAME COLUMN v TO x
                """
            ).expectSuccess()
            try await scene.tool("sync", "a.db").expectSuccess()
            try await scene.tool("clone", url, "new.db").expectSuccess()
            try await scene.sql("new.db", "UPDATE m SET v = 'new' WHERE k = 'm'")
            try await scene.tool("sync", "new.db").expectSuccess()
            try await scene.tool("sync", "a.db").expectSuccess()
            try await scene.tool("sync", "old.db").expectSuccess()
            #expect(try await scene.sql("a.db", "SELECT x FROM n") == "new\n")
            #expect(try await scene.sql("old.db", "SELECT v FROM m") == "new\n")
            for path in ["old.db", "new.db"] {
                let shown = try await scene.tool("schema", path).expectSuccess().text
                #expect(shown.contains("rename column n.v"), "\(path): \(shown)")
                try await scene.tool("schema", path, "--apply").expectSuccess()
                #expect(try await scene.sql(path, "SELECT x FROM n") == "new\n", "\(path)")
            }
            for path in ["old.db", "new.db"] {
                let shown = try await scene.tool("schema", path).expectSuccess().text
                #expect(shown.contains("has the schema of the store"), "\(path): \(shown)")
            }
        }
    }

    /// A rename anywhere makes a clone begin with the tables of the snapshot: what these lack is
    /// said, because programs may write there what the constraints of the others forbid.
    @Test(arguments: [true, false])
    func aCloneSaysWhatItsTablesLack(isRenamed: Bool) async throws {
        try await Scene.with { scene in
            try await scene.sql(
                "a.db",
                """
                CREATE TABLE u(id TEXT PRIMARY KEY, email TEXT);
                CREATE TABLE post(id TEXT PRIMARY KEY, title TEXT);
                INSERT INTO u VALUES ('u1', 'e1')
                """)
            try await scene.tool("track", "a.db").expectSuccess()
            mkdir(scene.folder.path("shared"), 0o755)
            let url = "dir:\(scene.folder.path("shared"))"
            try await scene.tool("remote", "add", "a.db", "origin", url).expectSuccess()
            try await scene.tool("push", "a.db").expectSuccess()
            try await scene.sql(
                "a.db",
                """
                BEGIN; CREATE TABLE n(id TEXT PRIMARY KEY, email TEXT NOT NULL UNIQUE);
                INSERT INTO n SELECT * FROM u; DROP TABLE u; ALTER TABLE n RENAME TO u; COMMIT
                """)
            try await scene.tool("sync", "a.db").expectSuccess()
            if isRenamed {
                try await scene.sql("a.db", "ALTER TABLE post RENAME COLUMN title TO headline")
                try await scene.tool("sync", "a.db").expectSuccess()
            }
            let clone = try await scene.tool("clone", url, "b.db")
            try clone.expectSuccess()
            let json = try JSONParser.parse(
                try await scene.tool("clone", url, "c.db", "--json").expectSuccess().lines[0])
            guard isRenamed else {
                #expect(clone.errors.isEmpty && json["schema"] == nil, "\(clone.errors)")
                return
            }
            #expect(clone.errors.contains("differs: u: it has no UNIQUE"), "\(clone.errors)")
            #expect(clone.errors.contains("differs: u.email: the NOT NULL is false here"))
            #expect(clone.errors.contains("1 change can be applied: synctool schema b.db --apply"))
            #expect(json["schema"]?["differences"]?.array?.count == 2, "\(json)")
            #expect(json["schema"]?["changes"]?.array?.count == 1, "\(json)")
        }
    }

    /// What is dropped here stays on the others: also what they had not got yet.
    @Test(arguments: [
        ["alter", "a.db", "ALTER TABLE t DROP COLUMN x; DROP TABLE u"],
        [
            "migrate", "a.db", "--", "/usr/bin/sqlite3", "a.db",
            "ALTER TABLE t DROP COLUMN x; DROP TABLE u",
        ],
    ])
    func whatIsDroppedIsSentBefore(command: [String]) async throws {
        try await Scene.with { scene in
            try await scene.sql(
                "a.db",
                "CREATE TABLE t(id TEXT PRIMARY KEY, v, x); CREATE TABLE u(id TEXT PRIMARY KEY, v)")
            let shared = try await scene.share("a.db")
            try await scene.tool("clone", shared, "b.db").expectSuccess()
            try await scene.sql(
                "a.db", "INSERT INTO t VALUES ('t1', 1, 50); INSERT INTO u VALUES ('u1', 'kept')")
            try await scene.run(command).expectSuccess()
            for name in ["a.db", "b.db"] { try await scene.tool("sync", name).expectSuccess() }
            #expect(
                try await scene.sql("b.db", "SELECT * FROM t; SELECT * FROM u")
                    == "t1|1|50\nu1|kept\n")
        }
    }

    /// Where an exchange is refused nothing can be recorded, and that is said.
    @Test func whatCannotBeRecordedBeforeIsTold() async throws {
        try await Scene.with { scene in
            try await scene.sql(
                "a.db",
                "CREATE TABLE t(id TEXT PRIMARY KEY, v, x); CREATE TABLE u(id TEXT PRIMARY KEY, v)")
            _ = try await scene.share("a.db")
            try await scene.sql("a.db", "DROP TABLE u; INSERT INTO t VALUES ('t1', 1, 50)")
            let drop = "ALTER TABLE t DROP COLUMN x"
            let altered = try await scene.tool("alter", "a.db", drop).expectSuccess()
            #expect(altered.errors.contains("not recorded for other replicas"), "\(altered.errors)")
            #expect(altered.errors.contains("dropped the table u"), "\(altered.errors)")
        }
    }
}
