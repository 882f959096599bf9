import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncMerge
@testable import SyncReplica

/// Keys that SQLite calls equal and that are spelled in several ways: one object, whose key is a
/// value like any other.
@Suite("Merging: keys with another spelling")
struct SpelledKeyTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static let tags = """
        CREATE TABLE tag(name TEXT PRIMARY KEY COLLATE NOCASE, color TEXT);
        INSERT INTO tag VALUES ('home', 'green'), ('work', 'red');
        """

    private func expectEqual(_ a: TestStore, _ b: TestStore, _ rows: [[Value]]) throws {
        for store in [a, b] {
            #expect(try store.rows("SELECT * FROM tag ORDER BY name") == rows)
        }
        #expect(try a.replica.names().count == rows.count)
        #expect(try a.replica.openConflicts() == b.replica.openConflicts())
    }

    @Test("a change of case is a change of the key's value, beside an edit elsewhere")
    func changeOfCase() throws {
        let (a, b) = try TestStore.pair(in: folder, schema: Self.tags)
        try a.run("UPDATE tag SET name = 'HOME' WHERE name = 'home'")
        try b.run("UPDATE tag SET color = 'grey' WHERE name = 'home'")
        try TestStore.sync(a, b)
        try expectEqual(a, b, [["HOME", "grey"], ["work", "red"]])
        #expect(try a.replica.conflicts(open: nil).isEmpty)
        try b.run("UPDATE tag SET color = 'blue' WHERE name = 'Home'")
        try TestStore.sync(a, b)
        try expectEqual(a, b, [["HOME", "blue"], ["work", "red"]])
    }

    @Test("of two spellings the later one is shown, and the other is a conflict")
    func twoSpellings() throws {
        let (a, b) = try TestStore.pair(in: folder, schema: Self.tags)
        try a.run("UPDATE tag SET name = 'Home' WHERE name = 'home'")
        try b.run("UPDATE tag SET name = 'HOME' WHERE name = 'home'")
        try TestStore.sync(a, b)
        let rows = try a.rows("SELECT * FROM tag ORDER BY name")
        #expect(try b.rows("SELECT * FROM tag ORDER BY name") == rows)
        #expect(try a.replica.openConflicts().count == 1)
        try b.run("DELETE FROM tag WHERE name = 'hOmE'")
        try TestStore.sync(a, b)
        try expectEqual(a, b, [["work", "red"]])
    }

    @Test("deleted and inserted with another spelling it is the same object, as with the same one")
    func insertedAgain() throws {
        let (a, b) = try TestStore.pair(in: folder, schema: Self.tags)
        try a.run(
            "BEGIN; DELETE FROM tag WHERE name = 'home'; INSERT INTO tag VALUES ('HOME', 'x'); COMMIT"
        )
        try TestStore.sync(a, b)
        try expectEqual(a, b, [["HOME", "x"], ["work", "red"]])
        try a.run("DELETE FROM tag WHERE name = 'work'")
        _ = try a.replica.vector
        try a.run("INSERT INTO tag VALUES ('WORK', 'y')")
        try TestStore.sync(a, b)
        try expectEqual(a, b, [["HOME", "x"], ["WORK", "y"]])
    }

    @Test("spaces at the end under RTRIM, and a real for an integer")
    func otherSpellings() throws {
        let (a, b) = try TestStore.pair(
            in: folder,
            schema: """
                CREATE TABLE tag(name PRIMARY KEY COLLATE RTRIM, color TEXT);
                INSERT INTO tag VALUES ('home', 'green'), (7, 'red');
                """)
        try a.run(
            "UPDATE tag SET name = 'home  ' WHERE color = 'green'; UPDATE tag SET name = 7.0 "
                + "WHERE color = 'red'")
        try b.run("UPDATE tag SET color = 'grey'")
        try TestStore.sync(a, b)
        try expectEqual(a, b, [[.real(7), "grey"], ["home  ", "grey"]])
    }

    @Test("a reference is one however it is spelled, and keeps the spelling of its row")
    func references() throws {
        let (a, b) = try TestStore.pair(
            in: folder,
            schema: Self.tags + """
                CREATE TABLE item(id INTEGER PRIMARY KEY, tag TEXT
                  REFERENCES tag(name) ON DELETE CASCADE, note TEXT);
                INSERT INTO item VALUES (1, 'home', 'n'), (2, 'HOME', 'n');
                """)
        try a.run("UPDATE tag SET name = 'Home' WHERE name = 'home'")
        try b.run("UPDATE item SET note = 'm'; INSERT INTO item VALUES (3, 'hOME', 'k')")
        try TestStore.sync(a, b)
        #expect(
            try a.rows("SELECT id, tag, note FROM item WHERE id < 3") == [
                [1, "home", "m"], [2, "HOME", "m"],
            ])
        #expect(try b.rows("SELECT tag FROM item WHERE id = 3") == [["hOME"]])
        for store in [a, b] {
            #expect(try store.rows("PRAGMA foreign_key_check").isEmpty)
            #expect(try store.rows("SELECT name FROM tag WHERE color = 'green'") == [["Home"]])
            #expect(try store.replica.conflicts(open: nil).isEmpty)
        }
        try b.run("DELETE FROM tag WHERE name = 'HOME'")
        try TestStore.sync(a, b)
        for store in [a, b] { #expect(try store.rows("SELECT * FROM item").isEmpty) }
    }

    @Test("a row of a reference that is spelled otherwise is deleted while nothing is captured")
    func uncapturedDelete() throws {
        let (a, b) = try TestStore.pair(
            in: folder,
            schema: """
                CREATE TABLE tag(name TEXT PRIMARY KEY COLLATE NOCASE, color TEXT);
                INSERT INTO tag VALUES ('home', 'green');
                CREATE TABLE use(tag TEXT COLLATE NOCASE REFERENCES tag(name) ON UPDATE CASCADE,
                  number INTEGER, note TEXT, PRIMARY KEY(tag, number));
                INSERT INTO use VALUES ('home', 1, 'n'), ('home', 2, 'm');
                """)
        try TestStore.sync(a, b)
        let triggers = try a.rows(
            """
            SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'use'
            AND name GLOB 'syncd_[0-9]*'
            """)
        for row in triggers { try a.run("DROP TRIGGER \(row[0].description)") }
        try a.run(
            """
            UPDATE tag SET name = 'HOME'; UPDATE use SET number = 3 WHERE number = 1;
            UPDATE use SET note = 'k' WHERE number = 2
            """)
        try TestStore.sync(a, b)
        let rows: [[Value]] = [["HOME", 2, "k"], ["HOME", 3, "n"]]
        #expect(try a.rows("SELECT upper(tag), number, note FROM use ORDER BY number") == rows)
        #expect(try b.rows("SELECT upper(tag), number, note FROM use ORDER BY number") == rows)
        #expect(try a.replica.names().count == 3)
        #expect(try a.replica.openConflicts() == b.replica.openConflicts())
    }
}
