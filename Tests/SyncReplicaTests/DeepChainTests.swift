import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncReplica

/// Rows that refer to each other in a long chain: what one change concerns is found without a limit
/// of its depth.
@Suite("Merging: long chains of rows")
struct DeepChainTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static func thread(_ depth: Int, onDelete action: String) -> String {
        """
        CREATE TABLE c(id INTEGER PRIMARY KEY, parent INTEGER REFERENCES c ON DELETE \(action), v TEXT);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(depth))
        INSERT INTO c SELECT i, nullif(i - 1, 0), 'v' || i FROM n
        """
    }

    @Test(
        "a chain is deleted while its end is edited or gets another row",
        arguments: ["UPDATE c SET v = 'b' WHERE id = 60", "INSERT INTO c VALUES (61, 60, 'b')"],
        ["CASCADE", "SET NULL"])
    func deleted(write: String, action: String) throws {
        let (a, b) = try TestStore.pair(
            in: folder, schema: Self.thread(60, onDelete: action))
        try b.run(write)
        try a.run(action == "CASCADE" ? "DELETE FROM c WHERE id = 1" : "DELETE FROM c")
        try TestStore.sync(a, b)
        let query = "SELECT v FROM c ORDER BY v"
        #expect(try a.rows(query) == b.rows(query))
        #expect(try a.replica.openConflicts() == b.replica.openConflicts())
        let c = try a.copy(at: folder.file("c.db"))
        try c.pull(from: a)
        #expect(try c.rows(query) == a.rows(query))
    }

    @Test("two replicas make the same path of sixty folders")
    func path() throws {
        let (a, b) = try TestStore.pair(
            in: folder,
            schema: """
                CREATE TABLE d(id INTEGER PRIMARY KEY, parent INTEGER REFERENCES d, name TEXT,
                  UNIQUE(parent, name));
                INSERT INTO d VALUES (1, NULL, 'root')
                """)
        for store in [a, b] {
            try store.run(
                """
                WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 60)
                INSERT INTO d SELECT i, i - 1, 'f' || i FROM n
                """)
        }
        try TestStore.sync(a, b)
        for store in [a, b] {
            #expect(try store.rows("SELECT count(*) FROM d") == [[60]])
            #expect(try store.rows("PRAGMA foreign_key_check").isEmpty)
        }
    }
}
