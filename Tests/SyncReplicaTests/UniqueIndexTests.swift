import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncMerge
@testable import SyncReplica

/// UNIQUE over what is computed from the columns: expressions, generated columns, and the rows that
/// a condition chooses. Each is a claim like that of a UNIQUE column.
@Suite("Merging: UNIQUE indexes over expressions and a part of the rows")
struct UniqueIndexTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Writes on both replicas, and syncs.
    private func merged(
        _ schema: String, a first: String, b second: String
    ) throws -> [TestStore] {
        let (a, b) = try TestStore.pair(in: folder, schema: schema)
        try a.run(first)
        try b.run(second)
        try TestStore.sync(a, b)
        #expect(try a.replica.openConflicts() == b.replica.openConflicts())
        return [a, b]
    }

    private func expect(_ stores: [TestStore], _ sql: String, _ rows: [[Value]]) throws {
        for store in stores { #expect(try store.rows(sql) == rows) }
    }

    @Test("two rows that are inserted with one expression's value become one")
    func expression() throws {
        let stores = try merged(
            """
            CREATE TABLE u(id INTEGER PRIMARY KEY, email TEXT, name TEXT);
            CREATE UNIQUE INDEX ue ON u(lower(email));
            """,
            a: "INSERT INTO u VALUES (1, 'N@y', 'a')", b: "INSERT INTO u VALUES (5, 'n@Y', 'b')")
        try expect(stores, "SELECT email, name FROM u", [["n@Y", "b"]])
        try stores[0].run("INSERT INTO u VALUES (9, 'other', 'c')")
        try TestStore.sync(stores[0], stores[1])
        try expect(stores, "SELECT count(*) FROM u", [[2]])
    }

    @Test("after a clash of updates the later row is not shown where it cannot be NULL")
    func expressionUpdate() throws {
        let stores = try merged(
            """
            CREATE TABLE u(id INTEGER PRIMARY KEY, email TEXT NOT NULL);
            CREATE UNIQUE INDEX ue ON u(lower(email));
            INSERT INTO u VALUES (1, 'one'), (2, 'two');
            """,
            a: "UPDATE u SET email = 'Same' WHERE id = 1",
            b: "UPDATE u SET email = 'sAME' WHERE id = 2")
        let rows = try stores[0].rows("SELECT email FROM u")
        try expect(stores, "SELECT email FROM u", rows)
        #expect(rows.count == 1)
        #expect(try stores[0].replica.openConflicts().count == 1)
    }

    @Test(
        "rows of one writer that has no such index stay several",
        arguments: ["BEGIN; %; COMMIT", "%"], ["TEXT", "TEXT NOT NULL"])
    func indexOfOneReplica(commits: String, type: String) throws {
        let (a, b) = try TestStore.pair(
            in: folder,
            schema: """
                CREATE TABLE u(id INTEGER PRIMARY KEY, k \(type), note TEXT);
                CREATE UNIQUE INDEX uk ON u(k);
                """)
        try b.run("DROP INDEX uk")
        let inserts = (1...3).map { "INSERT INTO u VALUES (\($0), 'dup', 'n\($0)')" }
        try b.run(commits.replacing("%", with: inserts.joined(separator: "; ")))
        try TestStore.sync(a, b)
        #expect(try a.rows("SELECT count(*) FROM u WHERE k = 'dup'") == [[1]])
        #expect(try a.rows("SELECT count(*) FROM u") == [[type == "TEXT" ? 3 : 1]])
        // Of a row that is not shown, each value.
        #expect(try a.replica.openConflicts().count == (type == "TEXT" ? 2 : 4))
        #expect(try b.rows("SELECT note FROM u ORDER BY 1") == [["n1"], ["n2"], ["n3"]])
        let shown = try a.rows("SELECT note FROM u WHERE k = 'dup'")
        try a.run("DELETE FROM u WHERE k = 'dup'")
        try TestStore.sync(a, b)
        #expect(try b.rows("SELECT note FROM u ORDER BY 1").count == 2)
        #expect(try !b.rows("SELECT note FROM u").contains(shown[0]))
        // The constraint is gone everywhere: each row is shown.
        try a.run("DROP INDEX uk")
        try TestStore.sync(a, b)
        let rows = "SELECT k, note FROM u ORDER BY note"
        #expect(try a.rows(rows) == b.rows(rows))
    }

    @Test("a row that was replaced is one with the row of another writer's edit")
    func replacedRow() throws {
        let stores = try merged(
            """
            CREATE TABLE u(id INTEGER PRIMARY KEY, k TEXT NOT NULL UNIQUE, note TEXT, n INTEGER);
            INSERT INTO u VALUES (1, 'x', 'old', 1);
            """,
            a: "REPLACE INTO u VALUES (2, 'x', 'replaced', 1)",
            b: "UPDATE u SET n = 7 WHERE k = 'x'")
        try expect(stores, "SELECT k, count(*) FROM u GROUP BY k", [["x", 1]])
    }

    @Test("a partial index claims for the rows of its condition alone")
    func partial() throws {
        let stores = try merged(
            """
            CREATE TABLE u(id INTEGER PRIMARY KEY, email TEXT, deleted INTEGER NOT NULL DEFAULT 0,
              name TEXT);
            CREATE UNIQUE INDEX ue ON u(email) WHERE deleted = 0;
            INSERT INTO u VALUES (1, 'x', 1, 'old'), (2, 'x', 1, 'older');
            """,
            a: "INSERT INTO u VALUES (3, 'n', 0, 'a'), (4, 'm', 1, 'a')",
            b: "INSERT INTO u VALUES (3, 'n', 0, 'b'), (4, 'm', 0, 'b'), (5, 'k', 0, 'b')")
        try expect(
            stores, "SELECT email, deleted, name FROM u ORDER BY 1, 2, 3",
            [
                ["k", 0, "b"], ["m", 0, "b"], ["m", 1, "a"], ["n", 0, "b"], ["x", 1, "old"],
                ["x", 1, "older"],
            ])
        // One of them goes to the deleted ones while the other takes its place.
        try stores[0].run("UPDATE u SET deleted = 1 WHERE email = 'k'")
        try stores[0].run("INSERT INTO u(email, name) VALUES ('k', 'new')")
        try stores[1].run("UPDATE u SET name = 'edited' WHERE email = 'k'")
        try TestStore.sync(stores[0], stores[1])
        try expect(
            stores, "SELECT deleted, name FROM u WHERE email = 'k' ORDER BY 1",
            [[0, "new"], [1, "edited"]])
    }

    @Test("a row that a flag puts into a partial index gives up the flag, not its values")
    func flag() throws {
        let stores = try merged(
            """
            CREATE TABLE person(id INTEGER PRIMARY KEY, name TEXT);
            CREATE TABLE address(id INTEGER PRIMARY KEY, person INTEGER NOT NULL REFERENCES person,
              street TEXT, main INTEGER NOT NULL DEFAULT 0 CHECK(main IN (0, 1)));
            CREATE UNIQUE INDEX one ON address(person) WHERE main = 1;
            INSERT INTO person VALUES (1, 'Ann');
            INSERT INTO address VALUES (1, 1, 'first', 0), (2, 1, 'second', 0);
            """,
            a: "UPDATE address SET main = 1 WHERE id = 1",
            b: "UPDATE address SET main = 1 WHERE id = 2; "
                + "INSERT INTO address VALUES (3, 1, 'third', 0)")
        try expect(
            stores, "SELECT street, main FROM address ORDER BY id",
            [["first", 1], ["second", 0], ["third", 0]])
        #expect(try stores[0].replica.openConflicts().count == 1)
    }

    @Test(
        "a UNIQUE generated column is a claim of the columns that it is computed from",
        arguments: ["VIRTUAL UNIQUE", "STORED UNIQUE", "VIRTUAL"])
    func generated(kind: String) throws {
        let index = kind == "VIRTUAL" ? "CREATE UNIQUE INDEX pl ON p(low);" : ""
        let stores = try merged(
            """
            CREATE TABLE p(id INTEGER PRIMARY KEY, sku TEXT, note TEXT,
              low TEXT GENERATED ALWAYS AS (lower(sku)) \(kind));
            \(index)
            """,
            a: "INSERT INTO p(id, sku, note) VALUES (1, 'A1', 'a')",
            b: "INSERT INTO p(id, sku, note) VALUES (7, 'a1', 'b'), (8, 'b1', 'b')")
        try expect(
            stores, "SELECT sku, low, note FROM p ORDER BY low",
            [["a1", "a1", "b"], ["b1", "b1", "b"]])
    }

    @Test("a generated column beside a key, and one that is made of another")
    func generatedOfKeys() throws {
        let stores = try merged(
            """
            CREATE TABLE p(sku TEXT PRIMARY KEY, price REAL NOT NULL CHECK(price > 0),
              qty INT NOT NULL DEFAULT 1, total REAL GENERATED ALWAYS AS (price * qty) STORED,
              low TEXT AS (lower(sku)) VIRTUAL, tag TEXT AS (low || '!') UNIQUE)
            STRICT, WITHOUT ROWID;
            """,
            a: "INSERT INTO p(sku, price) VALUES ('A1', 2.5), ('D1', 9)",
            b: "INSERT INTO p(sku, price) VALUES ('c1', 9), ('d1', 8)")
        try expect(
            stores, "SELECT low, tag FROM p ORDER BY low",
            [["a1", "a1!"], ["c1", "c1!"], ["d1", "d1!"]])
    }

    @Test("a CHECK of a generated column holds for rows that two writers changed")
    func checkOfGenerated() throws {
        let stores = try merged(
            """
            CREATE TABLE p(id INTEGER PRIMARY KEY, low INT NOT NULL, high INT NOT NULL,
              width INT AS (high - low) CHECK(width >= 0));
            INSERT INTO p VALUES (1, 2, 5);
            """,
            a: "UPDATE p SET low = 5", b: "UPDATE p SET high = 3")
        try expect(stores, "SELECT width >= 0 FROM p", [[1]])
        #expect(try stores[0].rows("SELECT * FROM p") == stores[1].rows("SELECT * FROM p"))
    }

    @Test("an index with a collation of its own compares by that")
    func collatedIndex() throws {
        let stores = try merged(
            """
            CREATE TABLE u(id INTEGER PRIMARY KEY, first TEXT, email TEXT UNIQUE);
            CREATE UNIQUE INDEX ue ON u(first COLLATE NOCASE, email COLLATE NOCASE);
            CREATE UNIQUE INDEX un ON u(email COLLATE NOCASE);
            """,
            a: "INSERT INTO u VALUES (1, 'x', 'N@y')", b: "INSERT INTO u VALUES (5, 'y', 'n@Y')")
        try expect(stores, "SELECT first, email FROM u", [["y", "n@Y"]])
    }

    @Test("a reference inside an expression")
    func reference() throws {
        let stores = try merged(
            """
            CREATE TABLE folder(id INTEGER PRIMARY KEY, up INTEGER REFERENCES folder, name TEXT);
            CREATE UNIQUE INDEX fn ON folder(coalesce(up, 0), name);
            INSERT INTO folder VALUES (1, NULL, 'root');
            """,
            a: "INSERT INTO folder VALUES (2, 1, 'x'), (3, NULL, 'y')",
            b: "INSERT INTO folder VALUES (2, NULL, 'y'), (3, 1, 'x'), (4, 2, 'x')")
        try expect(stores, "SELECT count(*) FROM folder", [[4]])
        try expect(
            stores,
            "SELECT c.name, p.name FROM folder c JOIN folder p ON p.id = c.up ORDER BY 2",
            [["x", "root"], ["x", "y"]])
    }
}
