import Foundation
import SyncTesting
import Testing

/// `synctool sync` and `doctor --mend` after another program rebuilt a table.
@Suite("Rebuilt tables at the command line", .timeLimit(.minutes(5)))
struct MendCommandTests {
    private static let rebuild = """
        PRAGMA foreign_keys = OFF; BEGIN;
        CREATE TABLE new_item(id TEXT PRIMARY KEY NOT NULL, a TEXT, b TEXT CHECK(length(b) < 99));
        INSERT INTO new_item SELECT * FROM item; DROP TABLE item;
        ALTER TABLE new_item RENAME TO item; COMMIT;
        UPDATE item SET b = 'EDIT' WHERE id = 'x'; DELETE FROM item WHERE id = 'y';
        INSERT INTO item VALUES ('z', 'new', 'row');
        """

    private func makeStore(_ scene: Scene) async throws {
        try await scene.sql(
            "a.db",
            """
            CREATE TABLE item(id TEXT PRIMARY KEY NOT NULL, a TEXT, b TEXT);
            INSERT INTO item VALUES ('x', 'a0', 'b0'), ('y', 'a1', 'b1');
            """)
        try await scene.tool("track", "a.db").expectSuccess()
    }

    private func addRemote(_ scene: Scene) async throws {
        mkdir(scene.folder.path("shared"), 0o755)
        let shared = "dir:" + scene.folder.path("shared")
        try await scene.tool("remote", "add", "a.db", "origin", shared).expectSuccess()
        try await scene.tool("push", "a.db").expectSuccess()
    }

    @Test func mendFindsAllThatWasWrittenInASynchronisedStore() async throws {
        try await Scene.with { scene in
            try await makeStore(scene)
            try await addRemote(scene)
            try await scene.sql("a.db", Self.rebuild)
            let output = try await scene.tool("doctor", "--mend", "a.db")
            #expect(output.status == 0)
            #expect(output.text.contains("recorded 3 changes"), "\(output.text)")
            let history = try await scene.tool("history", "a.db", "--reverse", "--limit", "1")
            for line in ["~ item/x  b", "- item/y", "+ item/z"] {
                #expect(history.text.contains(line), "\(history.text)")
            }
        }
    }

    /// What was sent before is on the other replicas; the rest is nowhere, and said once.
    @Test func mendNamesWhatADroppedTableTookWithIt() async throws {
        try await Scene.with { scene in
            try await scene.sql("a.db", "CREATE TABLE kept(id INTEGER PRIMARY KEY)")
            try await makeStore(scene)
            try await addRemote(scene)
            try await scene.sql(
                "a.db",
                """
                UPDATE item SET a = 'later' WHERE id = 'x';
                INSERT INTO item VALUES ('z', 'a2', 'b2'), ('gone', 'a3', 'b3');
                DELETE FROM item WHERE id IN ('gone', 'y');
                DROP TABLE item;
                """)
            let mended = try await scene.tool("doctor", "--mend", "a.db")
            #expect(mended.status == 1, "\(mended.text)")
            #expect(
                mended.text.contains("dropped with 2 rows that were written after the last"),
                "\(mended.text)")
            try await scene.tool("sync", "a.db").expectSuccess()
            try await scene.tool("doctor", "--mend", "a.db").expectSuccess()
        }
    }

    @Test func mendSaysNothingOfADroppedTableThatWasSent() async throws {
        try await Scene.with { scene in
            try await scene.sql("a.db", "CREATE TABLE kept(id INTEGER PRIMARY KEY)")
            try await makeStore(scene)
            try await addRemote(scene)
            try await scene.sql("a.db", "DROP TABLE item")
            let mended = try await scene.tool("doctor", "--mend", "a.db").expectSuccess()
            #expect(!mended.text.contains("written after"), "\(mended.text)")
        }
    }

    @Test func mendFindsAllThatWasWrittenWhereNoDaemonEverRan() async throws {
        try await Scene.with { scene in
            try await makeStore(scene)
            try await scene.sql("a.db", Self.rebuild)
            let output = try await scene.tool("doctor", "--mend", "a.db")
            #expect(output.status == 0)
            #expect(output.text.contains("recorded 3 changes"), "\(output.text)")
        }
    }

    @Test(arguments: [false, true])
    func historyHasWhatWasWrittenWhereNoDaemonEverRan(isMerging: Bool) async throws {
        try await Scene.with { scene in
            try await makeStore(scene)
            if isMerging { try await addRemote(scene) }
            try await scene.sql("a.db", Self.rebuild)
            // Not by those that only look.
            for _ in 0..<2 {
                let checkup = try await scene.tool("doctor", "a.db")
                #expect(checkup.status == 1 && checkup.text.contains("triggers are missing"))
            }
            let history = try await scene.tool("history", "a.db").expectSuccess()
            for line in ["~ item/x", "- item/y", "+ item/z"] {
                #expect(history.text.contains(line), "\(history.text)\(history.errors)")
            }
            let again = try await scene.tool("history", "a.db").expectSuccess()
            #expect(again.text == history.text)
            try await scene.tool("doctor", "a.db").expectSuccess()
        }
    }

    /// A program holds the lock: what cannot be recorded is said.
    @Test func commandsSayWhatIsNotInTheHistory() async throws {
        try await Scene.with { scene in
            try await makeStore(scene)
            try await scene.sql("a.db", Self.rebuild)
            let writer = try PlainConnection(scene.folder.path("a.db"))
            try writer.run("BEGIN IMMEDIATE")
            for command in [
                ["history", "a.db"], ["show", "a.db", "item/x"], ["diff", "a.db", "0"],
            ] {
                let output = try await scene.run(command)
                #expect(output.errors.contains("not all is in the history"), "\(output.errors)")
                #expect(output.errors.contains("synctool doctor a.db --mend"), "\(output.errors)")
            }
            try writer.run("ROLLBACK")
            writer.close()
        }
    }

    @Test(arguments: [false, true])
    func statusAndDoctorSayWhenRowsWereCompared(withDaemon: Bool) async throws {
        try await Scene.with { scene in
            let daemon = withDaemon ? try await scene.startDaemon() : nil
            try await makeStore(scene)
            let before = try await scene.tool("status", "a.db").expectSuccess()
            #expect(before.lines.contains { $0.contains("compared") && $0.contains("never") })
            let json = try await scene.tool("status", "a.db", "--json").expectSuccess()
            #expect(!json.text.contains(#""compared""#))
            try await scene.tool("doctor", "--mend", "a.db").expectSuccess()
            let after = try await scene.tool("status", "a.db").expectSuccess()
            #expect(
                after.lines.contains { $0.contains("compared") && !$0.contains("never") },
                "\(after.text)")
            let stated = try await scene.tool("status", "a.db", "--json").expectSuccess()
            #expect(stated.text.contains(#""compared":"2"#), "\(stated.text)")
            await daemon?.stop()
        }
    }

    /// Nothing is said to be right that could not be found wrong.
    @Test func doctorNamesTablesWithoutFingerprints() async throws {
        try await Scene.with { scene in
            try await makeStore(scene)
            let line = "not checked: the rows of item, which have no fingerprints yet"
            let whole = try await scene.tool("doctor", "a.db").expectSuccess()
            #expect(!whole.text.contains("fingerprint"), "\(whole.text)")
            #expect(whole.lines.last == "a.db: no problems found")
            try await scene.sql("a.db", "DELETE FROM syncd_lineage")
            let part = try await scene.tool("doctor", "a.db").expectSuccess()
            #expect(part.text.contains(line), "\(part.text)")
            #expect(part.lines.last == "a.db: no problems found in what was checked")
            _ = try await scene.tool("doctor", "--mend", "a.db")
            let mended = try await scene.tool("doctor", "a.db").expectSuccess()
            #expect(!mended.text.contains(line), "\(mended.text)")
        }
    }

    /// A write with triggers switched off leaves no mark in the schema.
    @Test func doctorFindsWhatNoTriggerSaw() async throws {
        try await Scene.with { scene in
            try await makeStore(scene)
            let writer = try await scene.start(
                Binaries.sqlite3, "-cmd", ".dbconfig enable_trigger off", "a.db", "DELETE FROM item"
            ).output()
            #expect(writer.status == 0, "\(writer)")
            let found = try await scene.tool("doctor", "a.db")
            #expect(found.status == 1 && found.text.contains("not in the history"), "\(found)")
            let json = try await scene.tool("doctor", "a.db", "--json")
            #expect(json.status == 1 && json.text.contains("not in the history"), "\(json)")
            try await scene.tool("doctor", "--mend", "a.db").expectSuccess()
            let mended = try await scene.tool("doctor", "a.db").expectSuccess()
            #expect(mended.lines.last == "a.db: no problems found")
            try await addRemote(scene)
            let nothing = try await scene.tool("sync", "a.db").expectSuccess()
            #expect(nothing.text.contains("the rows were last compared with the history"))
            // A store that merges compares its rows with what it merged.
            let part = try await scene.tool("doctor", "a.db").expectSuccess()
            #expect(part.text.contains("not checked: the rows, with what was recorded of them"))
            let compared = try await scene.tool("doctor", "--mend", "a.db").expectSuccess()
            #expect(compared.text.contains("all rows compared"), "\(compared.text)")
            #expect(compared.lines.last == "a.db: no problems found", "\(compared.text)")
        }
    }

    /// An older copy takes the file's place: in it, or by a rename.
    @Test(arguments: ["WAL", "DELETE"], [true, false])
    func watchGoesOnAfterTheFileWasReplaced(mode: String, isRenamed: Bool) async throws {
        try await Scene.with { scene in
            try await makeStore(scene)
            try await scene.sql("a.db", "PRAGMA journal_mode = \(mode)")
            let watch = try scene.start(
                Binaries.synctool, "watch", "a.db", "--direct", "--json")
            func sees(_ text: String) async throws {
                let isThere = await eventually { watch.text.contains(text) }
                #expect(isThere, "\(text): \(watch.text)\(watch.errors)")
            }
            try await sees("began")
            try await scene.sql("a.db", "INSERT INTO item VALUES ('c', 'c', 'c')")
            try await sees("item/c")
            try await scene.sql("a.db", "VACUUM INTO 'older.db'")
            try await scene.sql("a.db", "INSERT INTO item VALUES ('d', 'd', 'd')")
            try await sees("item/d")
            if isRenamed {
                try #require(
                    rename(scene.folder.path("older.db"), scene.folder.path("a.db")) == 0)
            } else {
                try await scene.sql("a.db", ".restore older.db")
            }
            try await sees("storeReplaced")
            try await scene.sql("a.db", "INSERT INTO item VALUES ('e', 'e', 'e')")
            try await sees("item/e")
            await watch.stop()
        }
    }

    @Test func rebuildThatMayHaveRenamedIsRefusedWithTheCommandToRun() async throws {
        try await Scene.with { scene in
            try await makeStore(scene)
            try await addRemote(scene)
            try await scene.sql(
                "a.db",
                """
                CREATE TABLE new(id TEXT PRIMARY KEY NOT NULL, a TEXT, c TEXT);
                INSERT INTO new SELECT id, a, b FROM item; DROP TABLE item;
                ALTER TABLE new RENAME TO item
                """)
            for command in [["sync", "a.db"], ["push", "a.db"], ["conflicts", "a.db"]] {
                let output = try await scene.run(command)
                #expect(output.status == 1)
                #expect(output.errors.contains("synctool doctor --mend"), "\(output.errors)")
                #expect(!output.text.contains("nothing to"))
            }
            try await scene.tool("doctor", "--mend", "a.db").expectSuccess()
            try await scene.tool("sync", "a.db").expectSuccess()
        }
    }

    /// Each exchange is refused until the key is what it was: `doctor` does not call that whole,
    /// and `alter` does not do it.
    @Test func aChangedKeyIsNamed() async throws {
        try await Scene.with { scene in
            try await makeStore(scene)
            try await addRemote(scene)
            try await scene.tool("doctor", "a.db").expectSuccess()
            let rebuild = """
                CREATE TABLE new AS SELECT * FROM item; DROP TABLE item;
                CREATE TABLE item(id TEXT NOT NULL, a TEXT NOT NULL, b TEXT, PRIMARY KEY(id, a));
                INSERT INTO item SELECT id, a, b FROM new; DROP TABLE new
                """
            let refused = try await scene.tool("alter", "a.db", rebuild)
            #expect(refused.status == 1 && refused.errors.contains("Nothing was changed"))
            try await scene.tool("sync", "a.db").expectSuccess()
            try await scene.sql("a.db", rebuild)
            try await scene.run(["doctor", "a.db", "--mend"])
            let status = try await scene.tool("status", "a.db")
            #expect(status.text.contains("nothing is synchronised: the primary key of item was"))
            #expect(try await scene.tool("sync", "a.db").status == 1)
            let doctor = try await scene.tool("doctor", "a.db")
            #expect(doctor.status == 1)
            let text = doctor.text + doctor.errors
            #expect(text.contains("the primary key of item was changed"), "\(text)")
            #expect(text.contains("former key"), "\(text)")
            // Made right again in two steps.
            try await scene.tool(
                "alter", "a.db", "CREATE TABLE new AS SELECT * FROM item; DROP TABLE item"
            ).expectSuccess()
            try await scene.tool(
                "alter", "a.db",
                """
                CREATE TABLE item(id TEXT PRIMARY KEY NOT NULL, a TEXT, b TEXT);
                INSERT INTO item SELECT id, a, b FROM new; DROP TABLE new
                """
            ).expectSuccess()
            try await scene.tool("track", "a.db").expectSuccess()
            try await scene.tool("sync", "a.db").expectSuccess()
        }
    }

    /// Its name was free when the store was tracked, and is needed with the first exchange.
    @Test func aTableOfAnotherProgramUnderANeededNameHasToBeRenamedOnly() async throws {
        try await Scene.with { scene in
            try await makeStore(scene)
            try await scene.sql(
                "a.db",
                """
                UPDATE item SET a = 'later' WHERE id = 'x';
                CREATE TABLE syncd_extent(a); INSERT INTO syncd_extent VALUES ('mine')
                """)
            mkdir(scene.folder.path("shared"), 0o755)
            let add = ["remote", "add", "a.db", "origin", "dir:" + scene.folder.path("shared")]
            for command in [add, ["doctor", "a.db"]] {
                let refused = try await scene.run(command)
                #expect(refused.status == 1)
                for text in ["a table syncd_extent that syncd did not create", "RENAME TO"] {
                    let said = refused.text + refused.errors
                    #expect(said.contains(text), "\(said)")
                }
            }
            try await scene.sql("a.db", "ALTER TABLE syncd_extent RENAME TO extent")
            try await scene.run(add).expectSuccess()
            try await scene.tool("sync", "a.db").expectSuccess()
            try await scene.tool("doctor", "a.db").expectSuccess()
            let history = try await scene.tool("history", "a.db")
            #expect(history.text.contains("item/x"), "\(history.text)")
            #expect(try await scene.sql("a.db", "SELECT a FROM extent").contains("mine"))
        }
    }
}
