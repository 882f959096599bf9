import SyncTesting
import Testing
import Varlink

@Suite(.timeLimit(.minutes(3))) struct UndoCommandTests {
    @Test func revertAndRestoreBringBackWhatAnotherProcessTookAway() async throws {
        try await Scene.with { scene in
            let music = try await scene.makeMusic()
            try await scene.tool("track", music, "--undo", "Album").expectSuccess()
            let before = try await scene.sql(music, "SELECT * FROM Album WHERE AlbumId < 4")
            try await scene.sql(music, "UPDATE Album SET Title = 'x' WHERE AlbumId < 4")
            let history = try await scene.tool("history", music, "--json")
            let number = try #require(
                history.text.split(separator: "\"number\":").last?.prefix { $0.isNumber })
            try await scene.tool("revert", music, String(number)).expectSuccess()
            #expect(try await scene.sql(music, "SELECT * FROM Album WHERE AlbumId < 4") == before)

            try await scene.sql(music, "INSERT INTO Artist(ArtistId, Name) VALUES (99999, 'Gone')")
            try await scene.sql(music, "DELETE FROM Artist WHERE ArtistId = 99999")
            let restored = try await scene.tool("restore", music, "Artist/99999")
            #expect(restored.text.contains("+ Artist/99999 restored"))
            let name = try await scene.sql(
                music, "SELECT Name FROM Artist WHERE ArtistId = 99999")
            #expect(name.contains("Gone"))

            let again = try await scene.tool("restore", music, "Artist/99999")
            #expect(again.status == 1)
            #expect(again.errors.contains("it exists"))
            let unknown = try await scene.tool("revert", music, "123456")
            #expect(unknown.status == 1)
        }
    }

    /// What they write is newer than what another replica wrote into the deleted rows.
    @Test(arguments: ["restore", "revert"])
    func theConflictsThatItClosesAreNamed(command: String) async throws {
        try await Scene.with { scene in
            try await scene.sql(
                "a.db",
                """
                CREATE TABLE p(id TEXT PRIMARY KEY, v);
                CREATE TABLE c(id TEXT PRIMARY KEY, p REFERENCES p ON DELETE CASCADE, v);
                INSERT INTO p VALUES ('p1', 'a'), ('p2', 'b'); INSERT INTO c VALUES ('c1', 'p2', 'x')
                """)
            let shared = try await scene.share("a.db")
            try await scene.tool("clone", shared, "b.db").expectSuccess()
            try await scene.sql("a.db", "PRAGMA foreign_keys = ON; DELETE FROM p WHERE id = 'p2'")
            try await scene.sql("b.db", "UPDATE c SET p = 'p1', v = 'precious'")
            for name in ["b.db", "a.db"] { try await scene.tool("sync", name).expectSuccess() }
            let history = try await scene.tool("history", "a.db", "--json").expectSuccess()
            let deleted = try #require(history.lines.first { $0.contains("\"delete\"") })
            let number = try #require(try JSONParser.parse(deleted)["number"]?.integer)

            let what = command == "restore" ? "p/p2" : "\(number)"
            let undone = try await scene.tool(command, "a.db", what, "--json").expectSuccess()
            let closed = try JSONParser.parse(undone.lines[0])["closedConflicts"]?.array
            #expect(closed?.map { $0["object"]?.string } == ["c/c1", "c/c1"], "\(undone.text)")
            let last = try #require(closed?.last?["id"]?.integer)
            let shown = try await scene.tool("conflicts", "show", "a.db", "\(last)")
            #expect(shown.text.contains("precious"), "\(shown.text)")
            // Nothing is closed by what has no conflict.
            try await scene.sql("a.db", "DELETE FROM p WHERE id = 'p1'")
            let quiet = try await scene.tool("restore", "a.db", "p/p1").expectSuccess()
            #expect(!quiet.text.contains("conflict"), "\(quiet.text)")
        }
    }

    @Test func whatIsOverIsToldAsWhatItIs() async throws {
        try await Scene.with { scene in
            try await scene.sql("a.db", "CREATE TABLE t(id INTEGER PRIMARY KEY)")
            try await scene.tool("track", "a.db", "--wal").expectSuccess()
            var tokens: [String] = []
            for id in 1...3 {
                try await scene.sql("a.db", "INSERT INTO t VALUES (\(id))")
                let line = try await scene.tool(
                    "history", "a.db", "--json", "--reverse", "--limit", "1"
                ).expectSuccess().lines[0]
                tokens.append(try #require(try JSONParser.parse(line)["token"]?.string))
            }
            try await scene.tool("consumers", "add", "a.db", "reader").expectSuccess()
            for (token, said) in [
                (tokens[2], "acknowledged #3"), (tokens[0], "has acknowledged #3 already"),
            ] {
                let told = try await scene.tool("consumers", "ack", "a.db", "reader", token)
                #expect(told.text.contains(said), "\(told.text)")
            }
            try await scene.tool("purge", "a.db").expectSuccess()
            let purged = try await scene.tool("revert", "a.db", "1")
            #expect(purged.status == 1 && purged.errors.contains("was purged"), "\(purged.errors)")
        }
    }

    /// With a daemon that has digested it, and without: every row comes back.
    @Test(arguments: [false, true])
    func aWholeTransactionComesBack(withDaemon: Bool) async throws {
        try await Scene.with { scene in
            try await scene.sql(
                "a.db",
                """
                PRAGMA journal_mode = WAL;
                CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT);
                CREATE TABLE c(id INTEGER PRIMARY KEY, t INTEGER REFERENCES t ON DELETE CASCADE);
                INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c');
                INSERT INTO c VALUES (1, 1), (2, 1), (3, 2);
                """)
            let daemon = withDaemon ? try await scene.startDaemon() : nil
            try await scene.tool("track", "a.db", "--undo", "*").expectSuccess()
            let before = try await scene.sql("a.db", "SELECT * FROM t; SELECT * FROM c")

            try await scene.sql("a.db", "UPDATE t SET v = 'OOPS'")
            let update = try await number(scene, withDaemon)
            let reverted = try await scene.tool("revert", "a.db", update).expectSuccess()
            #expect(reverted.lines.count == 4, "\(reverted.text)")
            try await scene.sql(
                "a.db", "PRAGMA foreign_keys = ON; DELETE FROM t WHERE id = 1")
            _ = try await number(scene, withDaemon)
            let restored = try await scene.tool("restore", "a.db", "t/1").expectSuccess()
            #expect(restored.lines.count == 4, "\(restored.text)")
            let after = try await scene.sql("a.db", "SELECT * FROM t; SELECT * FROM c")
            #expect(after == before)
            await daemon?.stop()
        }
    }

    @Test(arguments: [false, true])
    func whatIsNotUndoneIsNamedWithStatusOne(withDaemon: Bool) async throws {
        try await Scene.with { scene in
            try await scene.sql(
                "a.db",
                """
                PRAGMA journal_mode = WAL;
                CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT);
                CREATE TABLE c(id INTEGER PRIMARY KEY, t INTEGER REFERENCES t);
                INSERT INTO t VALUES (1, 'a'), (2, 'b'); INSERT INTO c VALUES (1, 1);
                """)
            let daemon = withDaemon ? try await scene.startDaemon() : nil
            try await scene.tool("track", "a.db", "--undo", "*").expectSuccess()
            // Signed, so that they stay two transactions without a daemon, too.
            func signed(_ sql: String) async throws {
                try await scene.sql(
                    "a.db",
                    """
                    BEGIN; INSERT INTO syncd_txn(author) VALUES ('me'); \(sql);
                    INSERT INTO syncd_txn(author) VALUES (NULL); COMMIT
                    """)
            }
            try await signed("UPDATE t SET v = 'OOPS'")
            let update = try await number(scene, withDaemon)
            try await signed("UPDATE t SET v = 'later' WHERE id = 2")
            _ = try await number(scene, withDaemon)
            let part = try await scene.tool("revert", "a.db", update)
            #expect(part.status == 1)
            #expect(part.text.contains("partly reverted"), "\(part.text)")
            #expect(part.text.contains("! t/2 v not changed"), "\(part.text)")
            let nothing = try await scene.tool("revert", "a.db", update, "--json")
            #expect(nothing.status == 1)
            #expect(nothing.text.contains("\"token\":null"), "\(nothing.text)")
            #expect(nothing.text.contains("\"steps\":[]"), "\(nothing.text)")

            try await scene.sql("a.db", "DELETE FROM c; DELETE FROM t")
            _ = try await number(scene, withDaemon)
            let child = try await scene.tool("restore", "a.db", "c/1")
            #expect(child.status == 1, "its parent is gone: \(child.text)")
            #expect(child.text.contains("c/1 t not changed"), "\(child.text)")
            await daemon?.stop()
        }
    }

    /// The number of the newest transaction, once the daemon has digested it.
    private func number(_ scene: Scene, _ withDaemon: Bool) async throws -> String {
        if withDaemon {
            let isDigested = try await eventually(within: .seconds(60), every: .milliseconds(50)) {
                try await scene.tool("status", "a.db", "--json").text.contains("\"pending\":0")
            }
            try #require(isDigested)
        }
        let history = try await scene.tool("history", "a.db", "--json").expectSuccess()
        let last = history.lines.last ?? ""
        return String(
            try #require(last.split(separator: "\"number\":").last?.prefix { $0.isNumber }))
    }
}
