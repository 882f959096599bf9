import Foundation
import SyncTesting
import Testing
import Varlink

/// `synctool forget-sync`: a replica becomes a store of its own.
@Suite("Forgetting what merging knows, at the command line", .timeLimit(.minutes(5)))
struct ForgetSyncTests {
    private static let schema = """
        CREATE TABLE item(id TEXT PRIMARY KEY NOT NULL, mail TEXT UNIQUE NOT NULL, note TEXT);
        INSERT INTO item VALUES ('x', 'ann', 'n0'), ('y', 'bob', 'n1'), ('z', 'eve', 'n2');
        """
    private static let rows = "SELECT * FROM item ORDER BY id"

    /// Two replicas `a.db` and `b.db`, with nothing to exchange.
    private func withPair(_ body: (Scene, _ url: String) async throws -> Void) async throws {
        try await Scene.with { scene in
            try await scene.sql("a.db", Self.schema)
            let url = try await scene.share("a.db")
            try await scene.tool("clone", url, "b.db").expectSuccess()
            try await body(scene, url)
        }
    }

    private func syncBoth(_ scene: Scene) async throws {
        for name in ["b.db", "a.db", "b.db"] { try await scene.tool("sync", name) }
    }

    /// Everything in a database but its statistics of free pages.
    private func dump(_ scene: Scene, _ name: String) async throws -> String {
        try await scene.sql(name, ".dump")
    }

    @Test func rowsAndHistoryStay() async throws {
        try await withPair { scene, url in
            try await scene.sql("b.db", "UPDATE item SET note = 'later' WHERE id = 'x'")
            try await syncBoth(scene)
            try await scene.tool("consumers", "add", "b.db", "reader").expectSuccess()
            let changes = try await changes(of: "b.db", scene)
            let rows = try await scene.sql("b.db", Self.rows)
            let token = try await token(of: "b.db", scene)

            let nowhere = ["--socket", scene.folder.path("nowhere")]
            for command in [["forget-sync", "b.db"], ["doctor", "b.db", "--renew-identity"]] {
                let refused = try await scene.run(command + nowhere)
                #expect(refused.status == 69, "\(refused)")
                #expect(try await self.token(of: "b.db", scene) == token)
            }

            let said = try await scene.tool("forget-sync", "b.db").expectSuccess()
            #expect(said.text.contains("b.db: not synchronised any more"), "\(said)")
            #expect(said.text.contains("not changed: origin"), "\(said)")
            #expect(try await scene.sql("b.db", Self.rows) == rows)
            #expect(try await self.changes(of: "b.db", scene) == changes)
            #expect(try await scene.tool("consumers", "b.db").text.contains("reader"))
            #expect(try await scene.tool("doctor", "b.db").status == 0)
            #expect(try await scene.tool("remote", "list", "b.db").text == "no remotes\n")
            let old = try await scene.tool("history", "b.db", "--after", token)
            #expect(old.status == 1 && old.errors.contains("belongs to store"), "\(old)")

            let again = try await scene.tool("forget-sync", "b.db")
            #expect(again.status == 1 && again.errors.contains("nothing to forget"), "\(again)")
            let push = try await scene.tool("remote", "add", "b.db", "origin", url)
            #expect(push.status == 1 && push.errors.contains("another store"), "\(push)")

            try await scene.sql("b.db", "DELETE FROM item WHERE id = 'y'")
            try await scene.tool("remote", "add", "b.db", "origin", url, "--join", "by-key")
                .expectSuccess()
            try await syncBoth(scene)
            let joined = try await scene.sql("b.db", Self.rows)
            #expect(try await scene.sql("a.db", Self.rows) == joined)
            #expect(joined.contains("x|ann|later"))
        }
    }

    /// The lines of history, but those that name other replicas.
    private func changes(of name: String, _ scene: Scene) async throws -> [Substring] {
        let text = try await scene.tool("history", name).expectSuccess().text
        let lines = text.split(separator: "\n").filter { $0.hasPrefix(" ") }
        #expect(lines.count == 4)
        return lines
    }

    private func token(of name: String, _ scene: Scene) async throws -> String {
        let status = try await scene.tool("status", name, "--json").expectSuccess()
        return try #require(try JSONParser.parse(status.lines[0])["store"]?["token"]?.string)
    }

    enum Loss: CaseIterable {
        case unsent, conflict, hidden, waiting

        var word: String {
            switch self {
            case .unsent: "a transaction that no remote has"
            case .conflict: "an open conflict"
            case .hidden: "a row that a constraint keeps out of its table"
            case .waiting: "a change that waits"
            }
        }

        var member: String {
            switch self {
            case .unsent: "transactions"
            case .conflict: "conflicts"
            case .hidden: "hiddenRows"
            case .waiting: "waiting"
            }
        }
    }

    private func make(_ loss: Loss, _ scene: Scene) async throws {
        switch loss {
        case .unsent:
            try await scene.sql("b.db", "UPDATE item SET note = 'mine' WHERE id = 'x'")
            return
        case .conflict:
            try await scene.sql("b.db", "UPDATE item SET note = 'b' WHERE id = 'x'")
            try await scene.sql("a.db", "UPDATE item SET note = 'a' WHERE id = 'x'")
        case .hidden:
            try await scene.sql("b.db", "UPDATE item SET mail = 'new' WHERE id = 'x'")
            try await scene.sql("a.db", "UPDATE item SET mail = 'new' WHERE id = 'y'")
        case .waiting:
            try await scene.sql("a.db", "CREATE TABLE other(id TEXT PRIMARY KEY, v)")
            try await scene.tool("track", "a.db").expectSuccess()
            try await scene.sql("a.db", "INSERT INTO other VALUES ('o', 1)")
            try await scene.tool("sync", "a.db").expectSuccess()
        }
        try await syncBoth(scene)
    }

    /// Nothing is changed, and what would be lost is named; on request it goes, and is named.
    @Test(arguments: Loss.allCases)
    func whatWouldBeLostIsRefused(_ loss: Loss) async throws {
        try await withPair { scene, _ in
            try await make(loss, scene)
            // What was written is recorded first, which is no loss.
            _ = try await scene.tool("forget-sync", "b.db")
            let before = try await dump(scene, "b.db")
            let refused = try await scene.tool("forget-sync", "b.db")
            #expect(refused.status == 1, "\(refused)")
            #expect(refused.errors.contains(loss.word), "\(refused.errors)")
            #expect(refused.errors.contains("--discard"), "\(refused.errors)")
            #expect(try await dump(scene, "b.db") == before)

            let done = try await scene.tool("forget-sync", "b.db", "--discard", "--json")
                .expectSuccess()
            let lost = try JSONParser.parse(done.lines[0])["lost"]
            #expect(lost?[loss.member]?.integer == 1, "\(done.text)")
            #expect(try await scene.tool("doctor", "b.db").status == 0)
        }
    }

    /// Chosen policies hold in the new store, under the names that tables have now.
    @Test func policiesStay() async throws {
        try await withPair { scene, _ in
            try await scene.sql("b.db", "CREATE TABLE kept(id TEXT PRIMARY KEY, n INTEGER)")
            try await scene.tool("track", "b.db").expectSuccess()
            try await scene.tool("policy", "b.db", "item", "--property", "note=text")
                .expectSuccess()
            try await scene.tool("policy", "b.db", "kept", "--property", "n=counter")
                .expectSuccess()
            try await scene.tool("alter", "b.db", "ALTER TABLE item RENAME TO thing")
                .expectSuccess()
            try await syncBoth(scene)
            let before = try await scene.tool("policy", "b.db").expectSuccess().text
            #expect(before.contains("thing") && before.contains("counter"), "\(before)")
            try await scene.tool("forget-sync", "b.db").expectSuccess()
            #expect(try await scene.tool("policy", "b.db").text == before)
            try await scene.tool("policy", "b.db", "thing", "--deletes", "editWins")
                .expectSuccess()
            let after = try await scene.tool("policy", "b.db").expectSuccess().text
            #expect(after.contains("kept.n") && after.contains("counter"), "\(after)")
            #expect(after.contains("thing.note"), "\(after)")
        }
    }

    /// What a remote has is not known after an exchange that failed, and one that lost files.
    @Test(arguments: [false, true])
    func aRemoteThatMayLackSomethingIsNamed(_ isEmptied: Bool) async throws {
        try await withPair { scene, _ in
            let (shared, copy) = (scene.folder.path("shared"), scene.folder.path("former"))
            try FileManager.default.copyItem(atPath: shared, toPath: copy)
            try await scene.sql("b.db", "UPDATE item SET note = 'mine' WHERE id = 'x'")
            try await scene.tool("sync", "b.db").expectSuccess()
            try FileManager.default.removeItem(atPath: shared)
            if isEmptied {
                mkdir(shared, 0o755)
            } else {
                try FileManager.default.moveItem(atPath: copy, toPath: shared)
            }
            _ = try await scene.tool("pull", "b.db")
            let refused = try await scene.tool("forget-sync", "b.db")
            #expect(refused.status == 1 && refused.errors.contains("origin may lack"), "\(refused)")
            try await scene.tool("forget-sync", "b.db", "--discard").expectSuccess()
        }
    }

    /// In WAL mode a reader keeps the file as long as it was: the command does not say otherwise.
    @Test func aReaderKeepsTheSpace() async throws {
        try await withPair { scene, _ in
            try await scene.sql("b.db", "PRAGMA journal_mode = wal")
            let reader = try PlainConnection(scene.folder.path("b.db"))
            try reader.run("BEGIN; SELECT * FROM item")
            let said = try await scene.tool("forget-sync", "b.db", "--vacuum")
            #expect(said.status == 75, "\(said)")
            #expect(said.errors.contains("gets shorter"), "\(said.errors)")
            #expect(said.text.contains("not synchronised any more"), "\(said.text)")
            try reader.run("COMMIT")
        }
    }

    /// A daemon that has the store goes on with the new one, and tells those who listen.
    @Test func aDaemonGoesOnWithTheNewStore() async throws {
        try await withPair { scene, _ in
            let daemon = try await scene.startDaemon()
            try await scene.tool("track", "b.db").expectSuccess()
            let watch = try scene.start(Binaries.synctool, "watch", "b.db", "--json")
            func expect(_ text: String) async {
                let isThere = await eventually { watch.text.contains(text) }
                #expect(isThere, "\(text): \(watch.text)\(watch.errors)")
            }
            await expect("began")
            try await scene.tool("forget-sync", "b.db").expectSuccess()
            await expect("storeReplaced")
            try await scene.sql("b.db", "UPDATE item SET note = 'after' WHERE id = 'z'")
            await expect("item/z")
            let status = try await scene.tool("status", "b.db", "--json").expectSuccess()
            let direct = try await scene.tool("status", "b.db", "--json", "--direct")
            let stores = try [status, direct].map { try JSONParser.parse($0.lines[0])["store"] }
            for name in ["id", "replica"] {
                #expect(stores[0]?[name] == stores[1]?[name] && stores[0]?[name] != nil, "\(name)")
            }
            let errors = daemon.errors
            await watch.stop()
            await daemon.stop()
            #expect(!errors.contains("error"), "\(errors)")
        }
    }

    /// A database that is given up keeps its keys, and they survive that it joins again.
    @Test func keysStay() async throws {
        try await Scene.with { scene in
            try await scene.sql("a.db", Self.schema)
            mkdir(scene.folder.path("shared"), 0o755)
            let url = "dir:" + scene.folder.path("shared")
            try await scene.tool("track", "a.db").expectSuccess()
            try scene.chmod("a.db", 0o600)
            try await scene.tool("remote", "add", "a.db", "origin", url, "--encrypt")
                .expectSuccess()
            try await scene.tool("push", "a.db").expectSuccess()
            let keys = try await scene.tool("key", "show", "a.db").expectSuccess().text
            let said = try await scene.tool("forget-sync", "a.db").expectSuccess()
            #expect(said.text.contains("1 key for encrypted remotes stays"), "\(said.text)")
            #expect(try await scene.tool("key", "show", "a.db").text == keys)
            try await scene.sql("a.db", "INSERT INTO item VALUES ('w', 'joe', 'n3')")
            let joined = try await scene.tool(
                "remote", "add", "a.db", "origin", url, "--encrypt", "--join", "by-key")
            #expect(joined.status == 0 && !joined.text.contains("created"), "\(joined)")
            #expect(try await scene.tool("key", "show", "a.db").text == keys)
            try await scene.tool("sync", "a.db").expectSuccess()
        }
    }

    /// Both commands that drop tables say what is free, and give it back.
    @Test(arguments: ["forget-sync", "untrack"], [false, true])
    func theSpaceIsGivenBack(_ command: String, withDaemon: Bool) async throws {
        try await withPair { scene, _ in
            let daemon = withDaemon ? try await scene.startDaemon() : nil
            if withDaemon { try await scene.tool("track", "b.db").expectSuccess() }
            try await scene.sql(
                "b.db",
                """
                WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 3000)
                INSERT INTO item SELECT 'i' || n, 'm' || n, 'note ' || n FROM c
                """)
            try await syncBoth(scene)
            try FileManager.default.copyItem(
                atPath: scene.folder.path("b.db"), toPath: scene.folder.path("c.db"))
            let offered = try await scene.tool(command, "c.db", "--direct").expectSuccess()
            #expect(offered.text.contains("are free"), "\(offered.text)")
            #expect(offered.text.contains("sqlite3 c.db VACUUM"), "\(offered.text)")
            let before = try await scene.sql("b.db", "PRAGMA page_count")
            let done = try await scene.tool(command, "b.db", "--vacuum").expectSuccess()
            #expect(done.text.contains("before it had"), "\(done.text)")
            let after = try await scene.sql("b.db", "PRAGMA page_count; PRAGMA freelist_count")
            let (pages, former) = (Int(after.split(separator: "\n")[0]), Int(before.dropLast()))
            #expect(try #require(pages) * 4 < #require(former) * 3, "\(before) \(after)")
            #expect(after.hasSuffix("\n0\n"), "\(after)")
            await daemon?.stop()
        }
    }
}
