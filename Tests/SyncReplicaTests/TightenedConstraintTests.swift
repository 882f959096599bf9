import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncMerge
@testable import SyncReplica
@testable import SyncValues

/// Migrations that clean the rows and then add a constraint, before any replica has read the file.
@Suite("Merging: constraints that come with cleaned rows")
struct TightenedConstraintTests {
    private static let schema = """
        CREATE TABLE p(id INTEGER PRIMARY KEY, t TEXT, n INTEGER);
        INSERT INTO p VALUES (1, 'a', 1), (2, 'a', 2), (3, NULL, -3), (4, 'd', 77)
        """

    private static func rebuild(_ columns: String, filling values: String) -> String {
        """
        PRAGMA foreign_keys = OFF; BEGIN; CREATE TABLE new(id INTEGER PRIMARY KEY, \(columns));
        INSERT INTO new SELECT id, \(values) FROM p;
        DROP TABLE p; ALTER TABLE new RENAME TO p; COMMIT
        """
    }

    private static let migrations = [
        "UPDATE p SET t = 'a-2' WHERE id = 2; CREATE UNIQUE INDEX u ON p(t)",
        "DELETE FROM p WHERE id = 2; CREATE UNIQUE INDEX u ON p(t)",
        """
        ALTER TABLE p ADD COLUMN slug TEXT NOT NULL DEFAULT ''; UPDATE p SET slug = 's' || id;
        CREATE UNIQUE INDEX u ON p(slug)
        """,
        """
        ALTER TABLE p RENAME COLUMN t TO tt; UPDATE p SET tt = 'x' || id;
        CREATE UNIQUE INDEX u ON p(tt)
        """,
        rebuild("t TEXT, n INTEGER, slug TEXT NOT NULL", filling: "t, n, 'slug-' || id"),
        rebuild("t TEXT NOT NULL, n INTEGER", filling: "coalesce(t, 'none'), n"),
        rebuild("t TEXT, n INTEGER CHECK(n >= 0)", filling: "t, abs(n)"),
        rebuild("t TEXT UNIQUE, n INTEGER", filling: "'x' || id, n"),
    ]

    @Test("the rows of the migration are recorded and shown", arguments: migrations)
    func tightened(_ migration: String) throws {
        let folder = try TemporaryFolder()
        let (a, b) = try TestStore.pair(in: folder, schema: Self.schema)
        try a.run(migration)
        let written = try a.rows("SELECT * FROM p ORDER BY id")
        try TestStore.sync(a, b)
        #expect(try a.rows("SELECT * FROM p ORDER BY id") == written)
        #expect(try a.replica.openConflicts().isEmpty)
        try b.run(migration)
        try TestStore.sync(a, b)
        for store in [a, b] {
            #expect(try store.rows("SELECT * FROM p ORDER BY id") == written, "\(store.path)")
            #expect(try store.replica.openConflicts().isEmpty, "\(store.path)")
        }
    }

    @Test("a row with a repair from before is cleaned, too")
    func repairedRow() throws {
        let folder = try TemporaryFolder()
        let (a, b) = try TestStore.pair(
            in: folder,
            schema: "CREATE TABLE q(id INTEGER PRIMARY KEY, u TEXT UNIQUE);"
                + Self.schema)
        try a.run("INSERT INTO q VALUES (1, 'x'), (2, 'y')")
        try TestStore.sync(a, b)
        try a.run("UPDATE q SET u = 'z' WHERE id = 1; UPDATE p SET t = 'from a' WHERE id = 1")
        try b.run("UPDATE q SET u = 'z' WHERE id = 2; UPDATE p SET t = 'from b' WHERE id = 1")
        try TestStore.sync(a, b)
        #expect(try a.rows("SELECT count(*) FROM q WHERE u IS NULL") == [[1]])
        try a.run(
            """
            UPDATE q SET u = 'free' WHERE u IS NULL; UPDATE p SET t = t || id;
            CREATE UNIQUE INDEX tight ON p(t)
            """)
        let written = [try a.rows("SELECT * FROM p"), try a.rows("SELECT * FROM q")]
        try TestStore.sync(a, b)
        for store in [a, b] {
            #expect(
                [try store.rows("SELECT * FROM p"), try store.rows("SELECT * FROM q")] == written)
        }
    }

    @Test(
        "a repaired row that is rebuilt and written, uncaptured, keeps what its cells blend",
        arguments: [
            (CellPolicy.counter, Value.integer(5), Value.integer(77)),
            (.counter, "none", "many"), (.set, "[\"a\"]", "[\"a\",\"b\"]"),
            (.text, "one", "one\ntwo"),
        ])
    func blendingCell(_ policy: CellPolicy, from old: Value, to new: Value) throws {
        let folder = try TemporaryFolder()
        let a = try TestStore(
            folder.file("a.db"),
            schema: "CREATE TABLE q(id INTEGER PRIMARY KEY, u TEXT UNIQUE, v)")
        try a.replica.setPolicies(MergePolicies(entities: ["q": .init(columns: ["v": policy])]))
        let b = try a.copy(at: folder.file("b.db"))
        try a.run("INSERT INTO q VALUES (1, 'x', \(old.literal)), (2, 'y', \(old.literal))")
        try TestStore.sync(a, b)
        try a.run("UPDATE q SET u = 'z' WHERE id = 1")
        try b.run("UPDATE q SET u = 'z' WHERE id = 2")
        try TestStore.sync(a, b)
        #expect(try a.rows("SELECT count(*) FROM q WHERE u IS NULL") == [[1]])
        try a.run(
            """
            CREATE TABLE new(id INTEGER PRIMARY KEY, u TEXT UNIQUE CHECK(u <> 'never'), v);
            INSERT INTO new SELECT * FROM q; DROP TABLE q; ALTER TABLE new RENAME TO q;
            UPDATE q SET v = \(new.literal) WHERE u IS NULL
            """)
        try TestStore.sync(a, b)
        for store in [a, b] {
            #expect(try store.rows("SELECT v FROM q WHERE u IS NULL") == [[new]])
            #expect(try store.rows("SELECT v FROM q WHERE u = 'z'") == [[old]])
        }
    }
}

extension Value {
    /// The value as SQL.
    fileprivate var literal: String {
        if case .text(let text) = self { return "'\(text)'" }
        return description
    }
}
