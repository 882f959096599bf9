import Foundation
import Testing

/// `show`, `diff`, `purge` by age and object, and what commands say about names that do not exist.
@Suite("Earlier values at the command line", .timeLimit(.minutes(5)))
struct PastCommandTests {
    private func makeStore(_ scene: Scene) async throws {
        try await scene.sql(
            "a.db",
            """
            PRAGMA journal_mode = WAL;
            CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT, b TEXT); CREATE TABLE nokey(a);
            INSERT INTO t VALUES (1, 'old', 'b'), (2, 'x', 'y');
            """)
        try await scene.tool("track", "a.db", "--undo", "*").expectSuccess()
        try await scene.sql(
            "a.db",
            """
            BEGIN; INSERT INTO syncd_txn(author) VALUES ('me');
            UPDATE t SET a = 'new' WHERE id = 1; DELETE FROM t WHERE id = 2;
            INSERT INTO syncd_txn(author) VALUES (NULL); COMMIT
            """)
    }

    /// What was before the tracking is not known, and that is said.
    private func diffNote(_ output: Child.Output) -> Bool {
        output.errors.contains("when the database was tracked")
    }

    @Test func positionsThatWerePurgedAreNamed() async throws {
        try await Scene.with { scene in
            try await makeStore(scene)
            try await scene.tool("history", "a.db").expectSuccess()
            try await scene.sql("a.db", "UPDATE t SET b = 'c' WHERE id = 1")
            try await scene.tool("purge", "a.db", "--before", "now").expectSuccess()
            for position in ["0", "1", "-1h", "yesterday"] {
                for command in [["diff", "a.db"], ["show", "a.db", "t/1", "--at"]] {
                    let output = try await scene.run(command + [position])
                    #expect(output.status != 0)
                    #expect(
                        output.errors.contains("was purged: the history begins with #"),
                        "\(position): \(output.errors)")
                }
            }
            try await scene.tool("show", "a.db", "t/1", "--at", "now").expectSuccess()
        }
    }

    @Test func showAndDiffNameEarlierValues() async throws {
        try await Scene.with { scene in
            try await makeStore(scene)
            let now = try await scene.tool("show", "a.db", "t/1").expectSuccess()
            #expect(now.lines == ["id  1", "a   'new'", "b   'b'"])
            let before = try await scene.tool("show", "a.db", "t/1", "--at", "-1h", "--json")
            #expect(before.text.contains(#""values":{"id":1,"a":"old","b":"b"},"unknown":[]"#))
            let none = try await scene.tool("show", "a.db", "t/2")
            #expect(none.status == 1 && none.errors.contains("t/2 did not exist"))
            for from in ["0", "-2h", "yesterday"] {
                let diff = try await scene.tool("diff", "a.db", from).expectSuccess()
                #expect(
                    diff.lines == ["~ t/1  a 'old' -> 'new'", "- t/2  id 2, a 'x', b 'y'"],
                    "\(from): \(diff.text)\(diff.errors)")
            }
            let json = try await scene.tool("diff", "a.db", "0", "--json").expectSuccess()
            #expect(json.lines.first?.contains(#""properties":["a"]"#) == true, "\(json.text)")
            #expect(diffNote(try await scene.tool("diff", "a.db", "yesterday")))
            #expect(diffNote(try await scene.tool("show", "a.db", "t/1", "--at", "yesterday")))
            #expect(!diffNote(try await scene.tool("show", "a.db", "t/1", "--at", "now")))
            #expect(try await scene.tool("diff", "a.db", "--at").status == 64)
            #expect(try await scene.tool("diff", "a.db").status == 64)
        }
    }

    @Test(arguments: [false, true]) func historyShowsOldAndNewValues(withDaemon: Bool) async throws
    {
        try await Scene.with { scene in
            let daemon = withDaemon ? try await scene.startDaemon() : nil
            try await makeStore(scene)
            try await scene.sql("a.db", "UPDATE t SET a = 'newer' WHERE id = 1")
            try await scene.sql("a.db", "INSERT INTO t VALUES (3, 'three', NULL)")
            let all = try await scene.tool("history", "a.db", "--values").expectSuccess()
            let lines = all.lines.filter { $0.hasPrefix("    ") }
            #expect(
                lines == [
                    "    ~ t/1  a 'old' -> 'new'", "    - t/2  id 2, a 'x', b 'y'",
                    "    ~ t/1  a 'new' -> 'newer'", "    + t/3  id 3, a 'three', b NULL",
                ], "\(all.text)")
            // Without old values, those after the transaction are known only while nothing changes.
            try await scene.sql("b.db", "CREATE TABLE t(id INTEGER PRIMARY KEY, a)")
            try await scene.tool("track", "b.db").expectSuccess()
            try await scene.sql("b.db", "INSERT INTO t VALUES (1, 'x')")
            try await scene.tool("history", "b.db").expectSuccess()
            try await scene.sql("b.db", "UPDATE t SET a = 'y'")
            let some = try await scene.tool("history", "b.db", "--values").expectSuccess()
            #expect(some.text.contains("~ t/1  a ? -> 'y'"), "\(some.text)")
            #expect(some.text.contains("+ t/1  id 1"), "\(some.text)")
            #expect(try await scene.tool("history", "b.db", "--values", "--json").status == 64)
            await daemon?.stop()
        }
    }

    @Test(arguments: [false, true]) func trackChangesToWalMode(withDaemon: Bool) async throws {
        try await Scene.with { scene in
            let daemon = withDaemon ? try await scene.startDaemon() : nil
            try await scene.sql("a.db", "CREATE TABLE t(id INTEGER PRIMARY KEY, a)")
            let first = try await scene.tool("track", "a.db").expectSuccess()
            #expect(first.text.contains("synctool track a.db --wal"), "\(first.text)")
            let second = try await scene.tool("track", "a.db", "--wal").expectSuccess()
            #expect(!second.text.contains("--wal"), "\(second.text)")
            let mode = try await scene.sql("a.db", "PRAGMA journal_mode")
            #expect(mode.contains("wal"), "\(mode)")
            try await scene.sql("a.db", "INSERT INTO t VALUES (1, 1); INSERT INTO t VALUES (2, 2)")
            let history = try await scene.tool("history", "a.db", "--count").expectSuccess()
            #expect(
                history.text.contains(withDaemon ? "2 transactions, 2 changes" : "2 changes"),
                "\(history.text)")
            await daemon?.stop()
        }
    }

    @Test(arguments: [false, true]) func purgeByAgeAndObject(withDaemon: Bool) async throws {
        try await Scene.with { scene in
            let daemon = withDaemon ? try await scene.startDaemon() : nil
            try await makeStore(scene)
            try await scene.sql("a.db", "UPDATE t SET b = 'c' WHERE id = 1")
            let none = try await scene.tool("purge", "a.db", "--older-than", "1h").expectSuccess()
            #expect(none.text.contains("deleted 0 transactions"), "\(none.text)")
            let force = try await scene.tool("purge", "a.db", "--force")
            #expect(force.status == 64 && force.errors.contains("--force has no effect"))
            let object = try await scene.tool("purge", "a.db", "--object", "t/2").expectSuccess()
            #expect(object.text.contains("from 1 delete and 0 updates"), "\(object.text)")
            let restored = try await scene.tool("restore", "a.db", "t/2")
            #expect(restored.status == 1 && restored.errors.contains("not all of its values"))
            let all = try await scene.tool("purge", "a.db", "--before", "now").expectSuccess()
            #expect(!all.text.contains("deleted 0 transactions"), "\(all.text)")
            await daemon?.stop()
        }
    }

    @Test(arguments: [false, true]) func purgeBeforeANumber(withDaemon: Bool) async throws {
        try await Scene.with { scene in
            let daemon = withDaemon ? try await scene.startDaemon() : nil
            try await makeStore(scene)
            // Read in between: what has been shown keeps its number.
            try await scene.tool("history", "a.db").expectSuccess()
            try await scene.sql("a.db", "UPDATE t SET b = 'c' WHERE id = 1")
            let history = try await scene.tool("history", "a.db", "--json").expectSuccess().text
            let numbers = Recorded.all(history).map(\.number)
            try #require(numbers.count == 2)
            let purged = try await scene.tool("purge", "a.db", "--before", "#\(numbers[1])")
                .expectSuccess()
            #expect(purged.text.contains("deleted 1 transaction with"), "\(purged.text)")
            let gone = try await scene.tool("purge", "a.db", "--before", "\(numbers[0])")
            #expect(gone.status == 1 && gone.errors.contains("was purged: the history begins"))
            let none = try await scene.tool("purge", "a.db", "--before", "999")
            #expect(none.status == 1 && none.errors.contains("there is no transaction 999"))
            await daemon?.stop()
        }
    }

    @Test func namesThatDoNotExistAreStatusOne() async throws {
        try await Scene.with { scene in
            try await makeStore(scene)
            for arguments in [
                ["policy", "a.db", "nope"], ["history", "a.db", "--property", "nope"],
                ["history", "a.db", "--entity", "nope"], ["track", "a.db", "--entity", "nope"],
                ["track", "a.db", "--entity", "nokey"], ["revert", "a.db", "999"],
                ["conflicts", "show", "a.db", "9"], ["conflicts", "resolve", "a.db", "9"],
                ["show", "a.db", "nope/1"], ["show", "a.db", "t/1", "--at", "999"],
                ["purge", "a.db", "--object", "t/99"],
            ] {
                let output = try await scene.run(arguments)
                #expect(output.status == 1, "\(arguments): \(output.errors)")
                #expect(output.errors.split(separator: "\n").count == 2, "\(output.errors)")
            }
            try await scene.sql("b.db", "CREATE TABLE a(x)")
            let track = try await scene.tool("track", "b.db")
            #expect(track.status == 1 && track.errors.contains("no table"), "\(track.errors)")
            #expect(try await scene.tool("alter", "a.db", "").status == 64)
        }
    }

    @Test func doctorNamesTriggersOnTablesOfTheStore() async throws {
        try await Scene.with { scene in
            try await makeStore(scene)
            try await scene.sql(
                "a.db",
                "CREATE TABLE n(i); CREATE TRIGGER c AFTER INSERT ON syncd_log BEGIN "
                    + "INSERT INTO n VALUES (1); END")
            let doctor = try await scene.tool("doctor", "a.db")
            #expect(doctor.status == 1)
            #expect(doctor.text.contains("the trigger c of another program"), "\(doctor.text)")
            try await scene.sql("a.db", "DROP TRIGGER c")
            #expect(try await scene.tool("doctor", "a.db").status == 0)
        }
    }
}
