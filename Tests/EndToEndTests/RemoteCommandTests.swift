import Foundation
import SyncTesting
import Testing
import Varlink

/// The commands that synchronise, as a person types them: what works, what goes wrong, with which
/// status, and what is left afterwards.
@Suite("Remotes at the command line", .timeLimit(.minutes(5)))
struct RemoteCommandTests {
    /// A tracked store `a.db` with some notes and a folder `shared` as its remote `origin`.
    private func withPair(
        _ options: [String] = [], _ body: (Scene, String) async throws -> Void
    ) async throws {
        try await Scene.with { scene in
            let shared = "dir:" + scene.folder.path("shared")
            mkdir(scene.folder.path("shared"), 0o755)
            try await makeNotes(scene, "a.db")
            try await scene.run(["remote", "add", "a.db", "origin", shared] + options)
                .expectSuccess()
            try await scene.tool("push", "a.db").expectSuccess()
            try await body(scene, shared)
        }
    }

    private func makeNotes(_ scene: Scene, _ name: String) async throws {
        try await scene.sql(
            name,
            """
            CREATE TABLE note(id INTEGER PRIMARY KEY, body TEXT);
            INSERT INTO note VALUES (1, 'one'), (2, 'two');
            """)
        try await scene.tool("track", name).expectSuccess()
    }

    private func notes(_ scene: Scene, _ name: String) async throws -> String {
        try await scene.sql(name, "SELECT body FROM note ORDER BY body")
    }

    private func expect(
        _ output: Child.Output, _ status: Int32, _ words: String...,
        location: SourceLocation = #_sourceLocation
    ) {
        #expect(output.status == status, "\(output.errors)", sourceLocation: location)
        for word in words {
            #expect(
                output.errors.contains(word), "'\(word)' is missing in: \(output.errors)",
                sourceLocation: location)
        }
    }

    @Test func anEmptiedFolderIsMadeARemoteAgain() async throws {
        try await withPair { scene, shared in
            try await scene.tool("clone", shared, "b.db").expectSuccess()
            let folder = scene.folder.path("shared")
            for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
                try FileManager.default.removeItem(atPath: folder + "/" + name)
            }
            expect(try await scene.tool("sync", "b.db"), 69, "synctool remote add", shared)
            try await scene.tool("remote", "add", "b.db", "origin", shared).expectSuccess()
            try await scene.tool("sync", "b.db").expectSuccess()
            expect(
                try await scene.tool("remote", "add", "b.db", "origin", shared), 1,
                "already exists")
            try await scene.tool("clone", shared, "c.db").expectSuccess()
            #expect(try await notes(scene, "c.db") == "one\ntwo\n")
        }
    }

    @Test func rowsWithoutAKeyAreNamed() async throws {
        try await Scene.with { scene in
            let shared = "dir:" + scene.folder.path("shared")
            mkdir(scene.folder.path("shared"), 0o755)
            try await scene.sql(
                "a.db", "CREATE TABLE t(k TEXT PRIMARY KEY, v); INSERT INTO t VALUES (NULL, 1)")
            let tracked = try await scene.tool("track", "a.db").expectSuccess().text
            #expect(tracked.contains("1 row of t with NULL in the primary key"), "\(tracked)")
            let added = try await scene.tool("remote", "add", "a.db", "origin", shared)
            expect(added, 0, "1 row of t with NULL in the primary key")
            expect(
                try await scene.tool("sync", "a.db"), 0, "1 row of t with NULL in the primary key")
        }
    }

    @Test func aCloneIsAReplicaThatGoesBothWays() async throws {
        try await withPair { scene, shared in
            try await scene.tool("clone", shared, "b.db").expectSuccess()
            #expect(try await notes(scene, "b.db") == "one\ntwo\n")
            try await scene.sql("b.db", "INSERT INTO note(body) VALUES ('from b')")
            try await scene.sql("a.db", "INSERT INTO note(body) VALUES ('from a')")
            let line = try JSONParser.parse(
                try await scene.tool("sync", "b.db", "--json").expectSuccess().lines[0])
            let keys = ["remote", "pushed", "pulled", "conflicts", "bytes", "seconds"]
            #expect(keys.allSatisfy { line[$0] != nil }, "\(line)")
            #expect(line["pushed"]?.integer == 1 && line["pulled"]?.integer == 0)
            try await scene.tool("sync", "a.db", "origin").expectSuccess()
            try await scene.tool("pull", "b.db").expectSuccess()
            #expect(try await notes(scene, "a.db") == "from a\nfrom b\none\ntwo\n")
            #expect(try await notes(scene, "a.db") == (try await notes(scene, "b.db")))
            expect(try await scene.tool("clone", shared, "b.db"), 1, "b.db", "already exists")
            let history = try await scene.tool("history", "a.db", "--json").expectSuccess().text
            #expect(history.contains("\"remote\""), "\(history)")
        }
    }

    @Test func anInterruptedCloneGoesOn() async throws {
        try await withPair { scene, shared in
            try await scene.tool("clone", shared, "b.db").expectSuccess()
            rename(scene.folder.path("b.db"), scene.folder.path("c.db.syncd-part"))
            try await scene.sql("a.db", "INSERT INTO note(body) VALUES ('later')")
            try await scene.tool("push", "a.db").expectSuccess()
            try Data("half".utf8).write(
                to: scene.folder.url.appendingPathComponent("d.db.syncd-part"))
            for name in ["c.db", "d.db"] {
                try await scene.tool("clone", shared, name).expectSuccess()
                #expect(try await notes(scene, name) == "later\none\ntwo\n")
            }
        }
    }

    @Test func aRemoteThatVanishedIs69_andIsNeverMadeAnew() async throws {
        try await withPair { scene, _ in
            let folder = scene.folder.path("shared")
            try FileManager.default.removeItem(atPath: folder)
            for command in ["push", "pull", "sync"] {
                expect(try await scene.tool(command, "a.db"), 69, "shared", "does not exist")
            }
            #expect(!FileManager.default.fileExists(atPath: folder))
            expect(try await scene.tool("push", "a.db", "other"), 1, "no remote 'other'", "origin")
            try await scene.tool("remote", "remove", "a.db", "origin").expectSuccess()
            expect(try await scene.tool("push", "a.db"), 1, "synctool remote add a.db")
            expect(
                try await scene.tool("remote", "add", "a.db", "origin", "dir:" + folder), 69,
                "does not exist")
            expect(
                try await scene.tool("remote", "add", "a.db", "origin", "ftp://x"), 64, "dir:/path")
        }
    }

    @Test func harmedFilesAreNamed_andWhatTheyHeldIsSentAgain() async throws {
        try await withPair { scene, shared in
            try await scene.sql("a.db", "INSERT INTO note(body) VALUES ('later')")
            try await scene.tool("push", "a.db").expectSuccess()
            let files = try batches(scene)
            try #require(files.count == 2)
            let whole = try Data(contentsOf: files[0])
            try whole.prefix(whole.count / 2).write(to: files[0])
            try whole.write(to: files[0].deletingLastPathComponent().appending(path: "copy.synb"))
            try Data("hello".utf8).write(
                to: files[0].deletingLastPathComponent().appending(path: "strange.synb"))
            // What a harmed file held may be in another one: it cannot be known.
            let output = try await scene.tool("clone", shared, "b.db", "--json")
            expect(output, 65, "may be missing here")
            #expect(output.text.contains("passedOver"), "\(output.text)")
            #expect(try await notes(scene, "b.db") == "later\none\ntwo\n")
            for file in try batches(scene) { try FileManager.default.removeItem(at: file) }
            try await scene.tool("push", "b.db").expectSuccess()
            try await scene.tool("clone", shared, "c.db").expectSuccess()
            #expect(try await notes(scene, "c.db") == "later\none\ntwo\n")
        }
    }

    private func batches(_ scene: Scene) throws -> [URL] {
        let folder = scene.folder.url.appendingPathComponent("shared")
        let names = FileManager.default.enumerator(atPath: folder.path)?.compactMap {
            $0 as? String
        }
        return (names ?? []).filter { $0.hasSuffix(".synb") }.sorted().map {
            folder.appendingPathComponent($0)
        }
    }

    @Test func anEncryptedFolderIsNotAddedWithoutEncryption() async throws {
        try await withPair(["--encrypt"]) { scene, shared in
            let before = try batches(scene)
            try await scene.tool("remote", "remove", "a.db", "origin").expectSuccess()
            expect(
                try await scene.tool("remote", "add", "a.db", "origin", shared), 1,
                "encrypted batches", "--encrypt")
            try await scene.sql("a.db", "INSERT INTO note(body) VALUES ('secret')")
            expect(try await scene.tool("push", "a.db"), 1, "no remotes")
            // One that was added by an older version.
            try await scene.sql(
                "a.db", "INSERT INTO syncd_remote VALUES ('old', '\(shared)', '{}')")
            expect(try await scene.tool("push", "a.db"), 1, "nothing is sent", "--encrypt")
            #expect(try batches(scene) == before)
            try await scene.tool("remote", "remove", "a.db", "old").expectSuccess()
            try await scene.tool("remote", "add", "a.db", "origin", shared, "--encrypt")
                .expectSuccess()
            try await scene.tool("push", "a.db").expectSuccess()
            #expect(try batches(scene).count == before.count + 1)
        }
    }

    @Test func aDatabaseWithAKeyIsForItsOwner() async throws {
        try await withPair(["--encrypt"]) { scene, shared in
            func mode(_ name: String) throws -> Int {
                let attributes = try FileManager.default.attributesOfItem(
                    atPath: scene.folder.path(name))
                return try #require(attributes[.posixPermissions] as? Int)
            }
            try write(scene, "some words\n", "words")
            let packet = try await scene.tool(
                "key", "share", "a.db", "--passphrase-file", "words"
            ).expectSuccess()
            try write(scene, packet.text, "packet")
            let cloned = try await scene.run([
                "clone", shared, "b.db", "--key", "packet", "--passphrase-file", "words",
            ]).expectSuccess()
            #expect(try mode("b.db") == 0o600)
            #expect(!cloned.errors.contains("other users may read"), "\(cloned.errors)")
            // A database that others use gets a key on request, and keeps its permissions.
            try scene.chmod("a.db", 0o644)
            try scene.chmod(".", 0o755)
            let arguments = ["key", "import", "a.db", "packet", "--passphrase-file", "words"]
            let refused = try await scene.run(arguments)
            #expect(refused.status == 1)
            #expect(refused.errors.contains("other users may read this file"))
            #expect(refused.errors.contains("--readable"), "\(refused.errors)")
            let imported = try await scene.run(arguments + ["--readable"]).expectSuccess()
            #expect(imported.errors.contains("other users may read the file"), "\(imported.errors)")
            #expect(imported.errors.contains("chmod go= a.db*"))
            #expect(try mode("a.db") == 0o644)
            // What nobody can reach is not readable.
            try scene.chmod(".", 0o700)
            let again = try await scene.run(arguments).expectSuccess()
            #expect(!again.errors.contains("other users may read"))
        }
    }

    @Test func anEncryptedRemoteIsOpenedByTheRightKeyAlone() async throws {
        try await withPair(["--encrypt"]) { scene, shared in
            for file in try batches(scene) {
                #expect(try Data(contentsOf: file).range(of: Data("two".utf8)) == nil)
            }
            let key = try JSONParser.parse(
                try await scene.tool("key", "show", "a.db", "--json").expectSuccess().lines[0])
            let name = try #require(key["key"]?.string)
            expect(try await scene.tool("clone", shared, "b.db"), 77, name, "key share", "--key")
            try write(scene, "right words\n", "right")
            try write(scene, "wrong words\n", "wrong")
            let packet = try await scene.tool(
                "key", "share", "a.db", "--passphrase-file", "right"
            ).expectSuccess()
            try write(scene, packet.text, "packet")
            expect(
                try await scene.run([
                    "clone", shared, "b.db", "--key", "packet", "--passphrase-file", "wrong",
                ]), 77, "passphrase")
            #expect(!FileManager.default.fileExists(atPath: scene.folder.path("b.db")))
            try await scene.run([
                "clone", shared, "b.db", "--key", "packet", "--passphrase-file", "right",
            ]).expectSuccess()

            // A key that b does not have: what it can read stays, the next sync heals.
            try await scene.tool("key", "rotate", "a.db").expectSuccess()
            try await scene.sql("a.db", "INSERT INTO note(body) VALUES ('new key')")
            try await scene.tool("push", "a.db").expectSuccess()
            try await scene.sql("b.db", "INSERT INTO note(body) VALUES ('from b')")
            expect(try await scene.tool("sync", "b.db"), 77, "key import")
            let status = try await scene.tool("status", "b.db").expectSuccess().text
            #expect(status.contains("failing since"), "\(status)")
            #expect(try await notes(scene, "b.db") == "from b\none\ntwo\n")
            let identity = try await scene.tool("key", "identity").expectSuccess().lines[0]
            let second = try await scene.tool("key", "share", "a.db", "--to", identity)
            try write(scene, second.text, "packet")
            try await scene.tool("key", "import", "b.db", "packet").expectSuccess()
            try await scene.tool("sync", "b.db").expectSuccess()
            try await scene.tool("sync", "a.db").expectSuccess()
            #expect(try await notes(scene, "a.db") == "from b\nnew key\none\ntwo\n")
            #expect(try await notes(scene, "b.db") == (try await notes(scene, "a.db")))
            try await makeNotes(scene, "other.db")
            expect(try await scene.tool("key", "import", "other.db", "packet"), 1, "another store")
            for file in ["/dev/null", ".", "none"] {
                let nothing = try await scene.tool("key", "import", "b.db", file)
                #expect(nothing.status != 0 && !nothing.errors.contains("Success"), "\(file)")
            }

            // A replica that keeps the new key names itself among those that do.
            try await scene.tool("remote", "name", "a.db", "keeper").expectSuccess()
            try await scene.tool("key", "rotate", "a.db", "--keep", "keeper").expectSuccess()
        }
    }

    private func write(_ scene: Scene, _ text: String, _ name: String) throws {
        try Data(text.utf8).write(to: scene.folder.url.appendingPathComponent(name))
    }

    @Test func storesThatWereTrackedApartJoinOnlyWhenTold() async throws {
        try await withPair { scene, shared in
            try await makeNotes(scene, "apart.db")
            try await scene.sql("apart.db", "INSERT INTO note VALUES (3, 'mine')")
            expect(
                try await scene.tool("remote", "add", "apart.db", "origin", shared), 1,
                "another store", "--join by-key", "synctool clone")
            #expect(try await scene.tool("remote", "list", "apart.db").text == "no remotes\n")
            try await scene.tool(
                "remote", "add", "apart.db", "origin", shared, "--join", "by-key"
            ).expectSuccess()
            try await scene.tool("sync", "apart.db").expectSuccess()
            try await scene.tool("sync", "a.db").expectSuccess()
            #expect(try await notes(scene, "a.db") == "mine\none\ntwo\n")
            #expect(try await notes(scene, "apart.db") == "mine\none\ntwo\n")
            try await scene.tool("untrack", "a.db").expectSuccess()
            let left = try await scene.sql(
                "a.db", "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'syncd%'")
            #expect(left == "0\n", "untracking removes every trace")
        }
    }

    @Test func anEncryptedRemoteIsJoinedWithItsKeys() async throws {
        try await withPair(["--encrypt"]) { scene, shared in
            try write(scene, "right words\n", "right")
            try await makeNotes(scene, "apart.db")
            try await scene.sql("apart.db", "INSERT INTO note VALUES (3, 'mine')")
            let packets = [("a.db", "packet"), ("apart.db", "foreign")]
            try await scene.tool("key", "make", "apart.db").expectSuccess()
            for (database, file) in packets {
                let packet = try await scene.tool(
                    "key", "share", database, "--passphrase-file", "right"
                ).expectSuccess()
                try write(scene, packet.text, file)
            }
            let join = ["remote", "add", "apart.db", "origin", shared, "--join", "by-key"]
            expect(try await scene.run(join), 77, "key share", "--join by-key --key PACKET")
            let with = ["--passphrase-file", "right", "--key"]
            expect(try await scene.run(join + with + ["foreign"]), 1, "another store")
            #expect(try await scene.tool("remote", "list", "apart.db").text == "no remotes\n")
            let history = try await scene.tool("history", "apart.db").expectSuccess().text
            #expect(!history.isEmpty, "what was refused changed nothing")
            try await scene.run(join + with + ["packet"]).expectSuccess()
            #expect(try await scene.tool("remote", "list", "apart.db").text.contains("encrypted"))
            try await scene.tool("sync", "apart.db").expectSuccess()
            try await scene.tool("sync", "a.db").expectSuccess()
            #expect(try await notes(scene, "a.db") == "mine\none\ntwo\n")
            #expect(try await notes(scene, "apart.db") == "mine\none\ntwo\n")
            let keys = try await scene.tool("key", "show", "a.db", "--json").expectSuccess().text
            let theirs = try await scene.tool("key", "show", "apart.db", "--json").expectSuccess()
            #expect(theirs.text == keys, "the keys of the store that it left are gone")
        }
    }

    /// Two collections of records that were kept apart: some of the artists are the same, under
    /// other numbers.
    private func withCollections(
        _ method: String, _ body: (Scene) async throws -> Void
    ) async throws {
        try await Scene.with { scene in
            let shared = "dir:" + scene.folder.path("shared")
            mkdir(scene.folder.path("shared"), 0o755)
            let rows = [
                "a.db": """
                INSERT INTO Artist VALUES (1, 'AC/DC', 'rock'), (2, 'Accept', 'metal');
                INSERT INTO Album VALUES (1, 'Let There Be Rock', 1), (2, 'Restless', 2);
                INSERT INTO Tag VALUES ('loud', 'from a'), ('old', 'from a');
                """,
                "b.db": """
                INSERT INTO Artist VALUES (1, 'Accept', 'heavy metal'), (3, 'Bach', NULL);
                INSERT INTO Album VALUES (1, 'Restless', 1), (2, 'Fugues', 3);
                INSERT INTO Tag VALUES ('loud', 'from b'), ('calm', 'from b');
                """,
            ]
            for (name, rows) in rows.sorted(by: { $0.key < $1.key }) {
                try await scene.sql(
                    name,
                    """
                    CREATE TABLE Artist(ArtistId INTEGER PRIMARY KEY, Name TEXT UNIQUE, Style TEXT);
                    CREATE TABLE Album(AlbumId INTEGER PRIMARY KEY, Title TEXT,
                      ArtistId INTEGER REFERENCES Artist(ArtistId), UNIQUE(Title, ArtistId));
                    CREATE TABLE Tag(Name TEXT PRIMARY KEY NOT NULL, Note TEXT);
                    \(name == "a.db" ? "" : rows)
                    """)
                try await scene.tool("track", name).expectSuccess()
                // Rows of before history and rows of a transaction.
                if name == "a.db" { try await scene.sql(name, rows) }
            }
            try await scene.tool("remote", "add", "a.db", "origin", shared).expectSuccess()
            try await scene.tool("push", "a.db").expectSuccess()
            try await scene.tool(
                "remote", "add", "b.db", "origin", shared, "--join", method
            ).expectSuccess()
            for name in ["b.db", "a.db", "b.db"] {
                try await scene.tool("sync", name).expectSuccess()
            }
            #expect(try await albums(scene, "a.db") == (try await albums(scene, "b.db")))
            #expect(try await artists(scene, "a.db") == (try await artists(scene, "b.db")))
            for name in ["a.db", "b.db"] {
                #expect(try await scene.sql(name, "PRAGMA foreign_key_check").isEmpty)
                let notes = try await scene.sql(name, "SELECT Name FROM Tag ORDER BY 1")
                #expect(notes == "calm\nloud\nold\n", "keys that are no numbers are the same")
            }
            try await body(scene)
        }
    }

    private func albums(_ scene: Scene, _ name: String) async throws -> String {
        try await scene.sql(
            name, "SELECT Title, Name FROM Album JOIN Artist USING(ArtistId) ORDER BY 1, 2")
    }

    private func artists(_ scene: Scene, _ name: String) async throws -> String {
        try await scene.sql(name, "SELECT Name FROM Artist ORDER BY 1")
    }

    private func losers(_ scene: Scene, _ name: String) async throws -> String {
        try await scene.tool("conflicts", name, "--json").expectSuccess().text
    }

    @Test func joiningByUniqueMeetsWhatHasTheSameName() async throws {
        try await withCollections("by-unique") { scene in
            #expect(try await artists(scene, "a.db") == "AC/DC\nAccept\nBach\n")
            #expect(
                try await albums(scene, "a.db")
                    == "Fugues|Bach\nLet There Be Rock|AC/DC\nRestless|Accept\n")
            let own = try await scene.sql("b.db", "SELECT ArtistId FROM Artist WHERE Name = 'Bach'")
            #expect(own == "3\n", "a row keeps its number at its writer")
            let there = try await scene.sql("a.db", "SELECT Style FROM Artist WHERE ArtistId = 2")
            #expect(["metal\n", "heavy metal\n"].contains(there))
            let lost = try await losers(scene, "a.db")
            #expect(lost.contains(there == "metal\n" ? "heavy metal" : "\"metal\""), "\(lost)")
            #expect(lost.contains("from a") || lost.contains("from b"), "\(lost)")
        }
    }

    @Test func joiningByKeyMeetsWhatHasTheSameNumber() async throws {
        try await withCollections("by-key") { scene in
            // Numbers 1 are one artist, and the names that clash make one row of Accept's two.
            let all = try await losers(scene, "a.db") + (try await artists(scene, "a.db"))
            for name in ["AC/DC", "Accept", "Bach"] { #expect(all.contains(name), "\(all)") }
            let titles = try await losers(scene, "a.db") + (try await albums(scene, "a.db"))
            for title in ["Let There Be Rock", "Restless", "Fugues"] {
                #expect(titles.contains(title), "\(titles)")
            }
        }
    }

    @Test func joiningSeparatelyKeepsEverythingThatMayBeThereTwice() async throws {
        try await withCollections("separate") { scene in
            let all = try await artists(scene, "a.db") + (try await losers(scene, "a.db"))
            for name in ["AC/DC", "Accept", "Bach", "metal"] { #expect(all.contains(name)) }
            let titles = try await albums(scene, "a.db")
            for title in ["Let There Be Rock|AC/DC", "Fugues|Bach", "Restless|Accept"] {
                #expect(titles.contains(title), "\(titles)")
            }
        }
    }

    @Test func aPolicyIsChosenOnce_andHoldsEverywhere() async throws {
        try await withPair { scene, shared in
            #expect(try await scene.tool("policy", "a.db").text.contains("default policies"))
            let chosen = try await scene.tool(
                "policy", "a.db", "note", "--property", "body=text", "--deletes", "editWins"
            ).expectSuccess()
            #expect(chosen.text.contains("note.body") && chosen.text.contains("text"))
            try await scene.tool("push", "a.db").expectSuccess()
            try await scene.tool("clone", shared, "b.db").expectSuccess()
            #expect(
                try await scene.tool("policy", "b.db").text == chosen.text, "it came with the clone"
            )
            let newLine = "char(10)"
            try await scene.sql(
                "a.db", "UPDATE note SET body = 'zero' || \(newLine) || body WHERE id = 1")
            try await scene.sql(
                "b.db", "UPDATE note SET body = body || \(newLine) || 'two' WHERE id = 1")
            for name in ["a.db", "b.db", "a.db"] {
                try await scene.tool("sync", name).expectSuccess()
            }
            for name in ["a.db", "b.db"] {
                let body = try await scene.sql(name, "SELECT body FROM note WHERE id = 1")
                #expect(body == "zero\none\ntwo\n")
            }
            expect(
                try await scene.tool("policy", "a.db", "note", "--properties", "object"), 1,
                "can no longer be set")
            expect(try await scene.tool("policy", "a.db", "nope", "--reset"), 1, "nope")
            expect(
                try await scene.tool("policy", "a.db", "note", "--property", "body=cuonter"), 64,
                "counter")
            expect(try await scene.tool("policy", "a.db", "--reset"), 64, "table")
            let reset = try await scene.tool("policy", "a.db", "note", "--reset").expectSuccess()
            #expect(reset.text.contains("default policies"))
        }
    }

    @Test func waitingEndsWhenTheOthersHaveIt() async throws {
        try await withPair { scene, shared in
            expect(
                try await scene.tool("push", "a.db", "--wait", "--timeout", "1s"), 75,
                "no other replica")
            try await scene.tool("clone", shared, "b.db").expectSuccess()
            try await scene.tool("pull", "b.db").expectSuccess()
            try await scene.tool("push", "a.db", "--wait").expectSuccess()
            try await scene.sql("a.db", "INSERT INTO note(body) VALUES ('later')")
            expect(
                try await scene.tool("push", "a.db", "--wait", "--timeout", "1s"), 75,
                "has not merged the changes yet")
            try await scene.tool("pull", "b.db").expectSuccess()
            try await scene.tool("push", "a.db", "--wait").expectSuccess()
        }
    }

    @Test func aSyncThatIsKilledAnywhereIsFinishedByTheNext() async throws {
        let seed = TestSeed.drawn().value
        var random = SeededRandom(seed: seed)
        try await withPair { scene, shared in
            try await scene.tool("clone", shared, "b.db").expectSuccess()
            for round in 0..<12 {
                for name in ["a.db", "b.db"] {
                    try await scene.sql(name, "INSERT INTO note(body) VALUES ('\(name) \(round)')")
                    let child = try scene.start(Binaries.synctool, "sync", name)
                    try await Task.sleep(
                        for: .milliseconds(Int.random(in: 0...250, using: &random)))
                    await child.stop()
                }
            }
            for name in ["a.db", "b.db", "a.db"] {
                try await scene.tool("sync", name).expectSuccess()
            }
            let (a, b) = (try await notes(scene, "a.db"), try await notes(scene, "b.db"))
            #expect(
                a == b && a.split(separator: "\n").count == 26, "SYNCD_SEED=\(seed): \(a)\n\(b)")
            #expect(try await scene.sql("a.db", "PRAGMA integrity_check") == "ok\n")
        }
    }

    @Test func aRemoteWhoseDiskIsFullIs75_andNothingIsLost() async throws {
        try await withPair { scene, _ in
            try await scene.withTinyDisk { disk in
                try await scene.tool("remote", "add", "a.db", "small", "dir:" + disk)
                    .expectSuccess()
                try await scene.sql(
                    "a.db",
                    "INSERT INTO note(body) SELECT hex(randomblob(500)) FROM generate_series(1, 200)"
                )
                expect(try await scene.tool("push", "a.db", "small"), 75, "space")
                try await scene.tool("push", "a.db", "origin").expectSuccess()
                let left = try FileManager.default.subpathsOfDirectory(atPath: disk)
                #expect(!left.contains { $0.contains(".syncd-") }, "\(left)")
                try await Child(
                    "/usr/bin/mount", ["-o", "remount,size=4m", disk], in: scene.folder,
                    environment: scene.environment
                ).output().expectSuccess()
                try await scene.tool("push", "a.db", "small").expectSuccess()
                try await scene.tool("clone", "dir:" + disk, "b.db").expectSuccess()
                #expect(try await notes(scene, "b.db") == (try await notes(scene, "a.db")))
            }
        }
    }

    @Test func sshTakesAnyPath_andSaysWhatIsWrongOverThere() async throws {
        try await withPair { scene, _ in
            // A shell for the other machine: it gets one text, as sshd gives it.
            try write(
                scene, "#!/bin/sh\nfor last; do :; done\necho Welcome\nexec sh -c \"$last\"\n",
                "ssh")
            try scene.chmod("ssh", 0o755)
            var environment = scene.environment
            environment["SYNCD_SSH"] = scene.folder.path("ssh")
            environment["PATH"] =
                URL(filePath: Binaries.synctool).deletingLastPathComponent().path
                + ":/usr/bin:/bin"
            func tool(_ arguments: String...) async throws -> Child.Output {
                try await Child(
                    Binaries.synctool, arguments, in: scene.folder, environment: environment
                ).output()
            }
            let name = "it's a $HOME \"db\".db"
            rename(scene.folder.path("a.db"), scene.folder.path(name))
            let url = "ssh://host" + scene.folder.path(name)
            try await tool("clone", url, "b.db").expectSuccess()
            try await scene.sql("b.db", "INSERT INTO note(body) VALUES ('near')")
            try await tool("sync", "b.db", "--wait").expectSuccess()
            #expect(try await notes(scene, name) == "near\none\ntwo\n")
            expect(try await tool("clone", "ssh://host/no/such.db", "c.db"), 66, "no such file")
            environment["PATH"] = "/usr/bin:/bin"
            expect(try await tool("sync", "b.db"), 69, "synctool was not found", "--synctool")
            expect(
                try await tool("remote", "add", "b.db", "x", url, "--encrypt"), 64, "--encrypt")
        }
    }

    @Test func theDaemonKeepsReplicasInStepByItself() async throws {
        try await withPair { scene, shared in
            try await scene.tool("clone", shared, "b.db").expectSuccess()
            let daemon = try await scene.startDaemon()
            do {
                for name in ["a.db", "b.db"] { try await scene.tool("track", name).expectSuccess() }
                for (from, to) in [("a.db", "b.db"), ("b.db", "a.db"), ("a.db", "b.db")] {
                    let text = "from \(from) \(UUID().uuidString)"
                    try await scene.sql(from, "INSERT INTO note(body) VALUES ('\(text)')")
                    let isThere = try await eventually(
                        within: .seconds(25), every: .milliseconds(100)
                    ) {
                        try await notes(scene, to).contains(text)
                    }
                    #expect(isThere, "\(daemon.errors)")
                }
                let folder = scene.folder.path("shared")
                rename(folder, folder + "-gone")
                try await scene.sql("a.db", "INSERT INTO note(body) VALUES ('meanwhile')")
                let isTold = try await eventually(within: .seconds(25), every: .milliseconds(200)) {
                    try await scene.tool("status", "a.db").text.contains("does not exist")
                }
                #expect(isTold, "\(daemon.errors)")
                rename(folder + "-gone", folder)
                let isThere = try await eventually(within: .seconds(40), every: .milliseconds(200))
                {
                    try await notes(scene, "b.db").contains("meanwhile")
                }
                #expect(isThere, "\(daemon.errors)")
            } catch {
                await daemon.stop()
                throw error
            }
            await daemon.stop()
        }
    }

    @Test func aReplicaThatNobodyAdmittedIsTold() async throws {
        try await withPair { scene, shared in
            try await scene.tool("remote", "members", "a.db", "--members", "closed").expectSuccess()
            try await scene.tool("sync", "a.db").expectSuccess()
            try await scene.tool("clone", shared, "b.db").expectSuccess()
            let hint = "synctool remote members REPLICA --admit "
            for arguments in [["sync", "b.db"], ["sync", "b.db", "--wait"]] {
                expect(try await scene.run(arguments), 77, "is not admitted", hint)
            }
            func expectFinding(_ words: String) async throws {
                for command in ["status", "doctor"] {
                    let output = try await scene.tool(command, "b.db", "--direct")
                    #expect(output.status == (command == "doctor" ? 1 : 0))
                    #expect(output.text.contains("problem: "), "\(output.text)")
                    #expect(output.text.contains(words), "\(output.text)")
                    #expect(output.text.contains(hint), "\(output.text)")
                }
            }
            try await expectFinding("is not admitted")
            try await scene.tool("sync", "a.db").expectSuccess()
            let query = "SELECT lower(hex(value)) FROM syncd_meta WHERE key = 'replica'"
            let name = try await scene.sql("b.db", query)
                .trimmingCharacters(in: .whitespacesAndNewlines)
            try await scene.tool("remote", "members", "a.db", "--admit", name).expectSuccess()
            try await scene.tool("sync", "a.db").expectSuccess()
            try await scene.tool("sync", "b.db").expectSuccess()
            try await scene.tool("remote", "members", "a.db", "--remove", name).expectSuccess()
            try await scene.tool("sync", "a.db").expectSuccess()
            try await scene.sql("b.db", "INSERT INTO note(body) VALUES ('more')")
            expect(try await scene.tool("sync", "b.db"), 77, "removed this replica", hint)
            try await expectFinding("removed this replica")
        }
    }

    @Test func aCloneWithThePacketFromBeforeARotationAsksForANewOne() async throws {
        try await withPair(["--encrypt"]) { scene, shared in
            for name in ["old", "new"] {
                try Data("pw\n".utf8).write(to: URL(fileURLWithPath: scene.folder.path("words")))
                let share = ["key", "share", "a.db", "--passphrase-file", "words"]
                let packet = try await scene.run(share).expectSuccess().text
                try Data(packet.utf8).write(to: URL(fileURLWithPath: scene.folder.path(name)))
                guard name == "old" else { break }
                try await scene.tool("key", "rotate", "a.db").expectSuccess()
                try await scene.sql("a.db", "INSERT INTO note(body) VALUES ('new key')")
                try await scene.tool("sync", "a.db").expectSuccess()
            }
            func clone(_ name: String) async throws -> Child.Output {
                try await scene.tool(
                    "clone", shared, "b.db", "--key", name, "--passphrase-file", "words")
            }
            expect(try await clone("old"), 77, "key share REPLICA", "synctool clone --key PACKET")
            try await clone("new").expectSuccess()
            #expect(try await notes(scene, "b.db") == "new key\none\ntwo\n")
            // The run that went on has the new key, too.
            try await scene.sql("b.db", "INSERT INTO note(body) VALUES ('of b')")
            try await scene.tool("sync", "b.db").expectSuccess()
            let keys = try await scene.tool("key", "show", "b.db").expectSuccess()
            #expect(keys.lines.count == 2, "\(keys.text)")
        }
    }
}
