import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncMerge
@testable import SyncReplica

/// CHECKs over references to keys that are compared by NOCASE: what a CHECK sees changes with the
/// key of another row, and is spelled in several ways.
@Suite("Merging: CHECKs over references")
struct CheckedReferenceTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func expectEqual(_ a: TestStore, _ b: TestStore) throws {
        #expect(try a.replica.openConflicts() == b.replica.openConflicts())
        for store in [a, b] { #expect(try store.rows("PRAGMA foreign_key_check").isEmpty) }
    }

    /// B renames a place so that it is equal to another one by NOCASE; A has made a road between
    /// the two that must differ, and something that refers to the road.
    @Test(
        "a row that a CHECK refuses is hidden, and with it what may not be without it",
        arguments: ["RESTRICT", "NO ACTION", "CASCADE", "SET NULL"])
    func refusedTarget(action: String) throws {
        let (a, b) = try TestStore.pair(
            in: folder,
            schema: """
                CREATE TABLE place(name TEXT NOT NULL COLLATE NOCASE, number INTEGER NOT NULL,
                  PRIMARY KEY(name, number));
                CREATE TABLE road(a TEXT NOT NULL COLLATE NOCASE, an INTEGER NOT NULL,
                  b TEXT NOT NULL COLLATE NOCASE, bn INTEGER NOT NULL,
                  PRIMARY KEY(a, an, b, bn), CHECK(a <> b),
                  FOREIGN KEY(a, an) REFERENCES place ON UPDATE CASCADE,
                  FOREIGN KEY(b, bn) REFERENCES place ON UPDATE CASCADE);
                CREATE TABLE sign(id TEXT PRIMARY KEY NOT NULL, a TEXT COLLATE NOCASE, an INTEGER,
                  b TEXT COLLATE NOCASE, bn INTEGER,
                  FOREIGN KEY(a, an, b, bn) REFERENCES road
                  ON DELETE \(action) ON UPDATE CASCADE);
                INSERT INTO place VALUES ('rome', 0), ('oslo', 1);
                """)
        try a.run(
            """
            INSERT INTO road VALUES ('rome', 0, 'oslo', 1);
            INSERT INTO sign VALUES ('s', 'rome', 0, 'oslo', 1)
            """)
        try b.run("UPDATE place SET name = 'OSLO' WHERE name = 'rome'")
        try TestStore.sync(a, b)
        for store in [a, b] {
            #expect(
                try store.rows("SELECT name, number FROM place ORDER BY number") == [
                    ["OSLO", 0], ["oslo", 1],
                ])
            #expect(try store.rows("SELECT * FROM road").isEmpty)
            let signs: [[Value]] = action == "SET NULL" ? [["s", nil]] : []
            #expect(try store.rows("SELECT id, a FROM sign") == signs)
            let open = try store.replica.conflicts(open: true)
            #expect(!open.filter { $0.entity == "road" }.isEmpty)
            #expect(!open.filter { $0.entity == "sign" }.isEmpty)
        }
        try expectEqual(a, b)
        // Room for them, made by either.
        try b.run("UPDATE place SET name = 'rome' WHERE number = 0")
        try TestStore.sync(a, b)
        for store in [a, b] {
            #expect(try store.rows("SELECT a, b FROM road") == [["rome", "oslo"]])
            #expect(try store.rows("SELECT id, b FROM sign") == [["s", "oslo"]])
        }
        try expectEqual(a, b)
    }

    private static func items(_ check: String) -> String {
        """
        CREATE TABLE tag(name TEXT PRIMARY KEY COLLATE NOCASE, color TEXT);
        CREATE TABLE item(id TEXT PRIMARY KEY, tag TEXT REFERENCES tag(name) ON DELETE CASCADE
          ON UPDATE CASCADE, n INTEGER, CHECK(\(check)));
        INSERT INTO tag VALUES ('Home', 'green'), ('work', 'red');
        INSERT INTO item VALUES ('old', 'work', 1);
        """
    }

    @Test(
        "a row stays that spells its reference as its CHECK demands, and not as the key is spelled",
        arguments: [("lower", "home", "work"), ("upper", "HOME", "WORK")])
    func demandedSpelling(function: String, home: String, work: String) throws {
        let (a, b) = try TestStore.pair(
            in: folder,
            schema: Self.items("tag = \(function)(tag)")
                .replacing("'old', 'work'", with: "'old', '\(work)'"))
        try a.run("INSERT INTO item VALUES ('new', '\(home)', 1)")
        try b.run("UPDATE tag SET name = 'wOrK' WHERE name = 'work'")
        try TestStore.sync(a, b)
        let late = try a.copy(at: folder.file("late.db"))
        for store in [a, b, late] {
            #expect(
                try store.rows("SELECT id, tag FROM item ORDER BY id") == [
                    ["new", .text(home)], ["old", .text(work)],
                ])
            #expect(try store.rows("SELECT name FROM tag ORDER BY name") == [["Home"], ["wOrK"]])
            #expect(try store.replica.conflicts(open: nil).isEmpty)
        }
        try b.run("DELETE FROM tag WHERE name = 'HOME'")
        try TestStore.sync(a, b)
        #expect(try a.rows("SELECT id FROM item") == [["old"]])
        try expectEqual(a, b)
    }

    @Test("a key that gets a spelling which a CHECK elsewhere refuses hides that row everywhere")
    func refusedSpelling() throws {
        let (a, b) = try TestStore.pair(
            in: folder, schema: Self.items("tag IN ('Home', 'Work', 'work')"))
        try b.run("DELETE FROM item")
        try TestStore.sync(a, b)
        try a.run("INSERT INTO item VALUES ('new', 'Home', 1)")
        try b.run("UPDATE tag SET name = 'HoMe' WHERE name = 'home'")
        try TestStore.sync(a, b)
        for store in [a, b] {
            #expect(try store.rows("SELECT name FROM tag ORDER BY name") == [["HoMe"], ["work"]])
            #expect(try store.rows("SELECT * FROM item").isEmpty)
            #expect(try store.replica.conflicts(open: true).contains { $0.entity == "item" })
        }
        try expectEqual(a, b)
        try b.run("UPDATE tag SET name = 'Home' WHERE name = 'home'")
        try TestStore.sync(a, b)
        for store in [a, b] { #expect(try store.rows("SELECT id FROM item") == [["new"]]) }
        try expectEqual(a, b)
    }

    /// A's row says `work`; B has spelled the key and its own row `Work`, which lets it write a 9.
    @Test("a row does not keep a spelling that its CHECK refuses together with a merged value")
    func outdatedSpelling() throws {
        let (a, b) = try TestStore.pair(
            in: folder, schema: Self.items("n < 5 OR tag GLOB '[A-Z]*'"))
        try b.run("UPDATE tag SET name = 'Work' WHERE name = 'work'")
        try TestStore.sync(a, b)
        #expect(try a.rows("SELECT tag FROM item") == [["work"]])
        try b.run("UPDATE item SET tag = 'Work', n = 9")
        try TestStore.sync(a, b)
        for store in [a, b] { #expect(try store.rows("SELECT tag, n FROM item") == [["Work", 9]]) }
        try expectEqual(a, b)
    }
}
