import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncReplica
@testable import SyncValues

/// What was written while the triggers were gone.
@Suite("Missed changes")
struct MissedChangesTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static let schema = """
        CREATE TABLE shelf(id INTEGER PRIMARY KEY, name TEXT COLLATE NOCASE UNIQUE, sum REAL);
        CREATE TABLE item(code TEXT PRIMARY KEY NOT NULL, shelf INT REFERENCES shelf, data BLOB);
        CREATE TABLE label(item TEXT NOT NULL REFERENCES item, name TEXT NOT NULL, text TEXT,
          PRIMARY KEY(item, name)) WITHOUT ROWID;
        WITH n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 40)
        INSERT INTO shelf SELECT i, 'Shelf ' || i, i / 3.0 FROM n;
        WITH n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 400)
        INSERT INTO item SELECT 'i' || i, 1 + i % 40, x'0409' FROM n;
        WITH n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 300)
        INSERT INTO label SELECT 'i' || i, 'l', iif(i % 2, 'text', NULL) FROM n;
        """

    private func unexplained(_ store: TestStore) throws -> [RowKey] {
        var keys: [RowKey] = []
        try store.replica.run("check") { session in
            try session.transact { transaction in
                try UnexplainedRows(transaction.storage).forEach { key, _ in keys.append(key) }
            }
        }
        return keys
    }

    private func dropTriggers(of store: TestStore) throws {
        let names = try store.rows(
            "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND name LIKE 'syncd%'")
        for case .text(let name) in names.map({ $0[0] }) {
            try store.run("DROP TRIGGER \"\(name)\"")
        }
    }

    @Test("rows that equal their records are found by none, and those that differ once each")
    func explained() throws {
        let (a, b) = try TestStore.pair(in: folder, schema: Self.schema)
        #expect(try unexplained(a).isEmpty)
        try b.pull(from: a)
        #expect(try unexplained(b).isEmpty)
        try b.run("UPDATE item SET shelf = 3 WHERE code = 'i7'; DELETE FROM shelf WHERE id = 99")
        try a.pull(from: b)
        #expect(try unexplained(a).isEmpty)
    }

    @Test("what was written without triggers is recorded, and nothing else")
    func withoutTriggers() throws {
        let (a, b) = try TestStore.pair(in: folder, schema: Self.schema)
        _ = try a.replica.vector
        try a.run("PRAGMA foreign_keys = OFF")
        try dropTriggers(of: a)
        try a.run(
            """
            UPDATE shelf SET name = 'other' WHERE id = 5; UPDATE shelf SET sum = -0.0 WHERE id = 6;
            UPDATE shelf SET sum = 0.0 WHERE id = 6; DELETE FROM shelf WHERE id = 7;
            INSERT INTO shelf VALUES (41, 'new', 1);
            UPDATE item SET shelf = 41 WHERE code = 'i9'; UPDATE item SET shelf = NULL
              WHERE code = 'i10'; UPDATE item SET data = x'04' WHERE code = 'i11';
            DELETE FROM item WHERE code = 'i400'; INSERT INTO item VALUES ('new', 77, NULL);
            UPDATE label SET text = 'changed' WHERE item = 'i12'; DELETE FROM label
              WHERE item = 'i13'; INSERT INTO label VALUES ('i14', 'second', 'x');
            UPDATE item SET code = 'I399' WHERE code = 'i399'
            """)
        _ = try a.replica.vector
        // The new key is a delete and an insert.
        #expect(
            try a.rows(
                """
                SELECT count(*) FROM syncd_change WHERE seq > (
                  SELECT first - 1 FROM syncd_transaction ORDER BY number DESC LIMIT 1)
                """) == [[14]])
        #expect(try unexplained(a).isEmpty)
        try b.pull(from: a)
        #expect(try a.dump() == b.dump())
    }

    /// The row that had the value is gone, so that nothing in the tables says why the other one does
    /// not show it. That is no write to the other one.
    @Test("a row that gave way to one that is gone was not written", arguments: [false, true])
    func givenWay(isCaptured: Bool) throws {
        let (first, b) = try TestStore.pair(
            in: folder,
            schema: """
                CREATE TABLE part(id TEXT PRIMARY KEY NOT NULL, number INTEGER UNIQUE, text TEXT);
                INSERT INTO part VALUES ('a', 1, ''), ('b', 2, ''), ('c', 3, ''), ('d', 4, ''),
                  ('e', 5, ''), ('x', 6, ''), ('y', 7, '');
                """)
        try b.run("UPDATE part SET number = 9 WHERE id = 'x'")
        try first.run("UPDATE part SET number = 9 WHERE id = 'a'")
        try TestStore.sync(first, b)
        #expect(try first.rows("SELECT number FROM part WHERE id IN ('a', 'x')") == [[nil], [9]])
        try first.replica.close()
        // Three rows are compared at once, and with a view of all.
        let a = try TestStore(
            first.path,
            StoreReplica(
                first.path, wall: { Timestamp.now().milliseconds }, isVerifying: true))
        if isCaptured { try a.run("DELETE FROM part WHERE id = 'x'") }
        try dropTriggers(of: a)
        if !isCaptured { try a.run("DELETE FROM part WHERE id = 'x'") }
        try a.run("UPDATE part SET text = 'past' WHERE id IN ('b', 'c', 'd', 'e')")
        _ = try a.replica.vector
        let store = try Store.open(a.path)
        defer { try? store.close() }
        let recovered = try store.history().filter { $0.flags.contains(.recovered) }
        let paths = recovered.flatMap { $0.changes.map(\.object.path) }
        let expected = ["b", "c", "d", "e"] + (isCaptured ? [] : ["x"])
        #expect(Set(paths) == Set(expected.map { "part/" + $0 }), "\(paths)")
        try TestStore.sync(a, b)
        #expect(try a.dump() == b.dump())
        #expect(try unexplained(a).isEmpty && unexplained(b).isEmpty)
    }
}
