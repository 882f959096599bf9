import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncMerge
@testable import SyncReplica

/// References to rows whose key is made of references: what such a reference holds is known only
/// with what the key refers to.
@Suite("Merging: references to keys that are references")
struct KeyReferenceTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func twoReplicas(_ schema: String) throws -> (TestStore, TestStore) {
        let a = try TestStore(folder.file("a.db"), schema: schema)
        let snapshot = try a.replica.batches(since: VersionVector())
        let copy = try StoreReplica.create(at: folder.file("b.db"), from: snapshot[0])
        return (a, try TestStore(folder.file("b.db"), copy))
    }

    private static func orders(_ constraint: String) -> String {
        """
        CREATE TABLE orders(id INTEGER PRIMARY KEY, customer TEXT);
        CREATE TABLE line(order_id INTEGER NOT NULL REFERENCES orders(id), n INTEGER NOT NULL,
          what TEXT, PRIMARY KEY(order_id, n));
        CREATE TABLE shipment(id INTEGER PRIMARY KEY, order_id INTEGER \(constraint),
          n INTEGER \(constraint), state TEXT,
          FOREIGN KEY(order_id, n) REFERENCES line(order_id, n));
        INSERT INTO orders VALUES (1, 'Ann');
        INSERT INTO line VALUES (1, 1, 'pen');
        INSERT INTO shipment VALUES (1, 1, 1, 'new');
        """
    }

    @Test("a merged edit leaves the reference of its row as it is", arguments: ["", "NOT NULL"])
    func editOfTheReferringRow(constraint: String) throws {
        let (a, b) = try twoReplicas(Self.orders(constraint))
        try b.run("UPDATE shipment SET state = 'sent'")
        try TestStore.sync(a, b)
        for store in [a, b] {
            #expect(try store.rows("SELECT * FROM shipment") == [[1, 1, 1, "sent"]])
        }
        try a.run("UPDATE shipment SET state = 'arrived'")
        try b.run("UPDATE line SET what = 'pencil'; UPDATE orders SET customer = 'Bea'")
        try TestStore.sync(a, b)
        for store in [a, b] {
            #expect(try store.rows("SELECT * FROM shipment") == [[1, 1, 1, "arrived"]])
            #expect(try store.rows("SELECT * FROM line") == [[1, 1, "pencil"]])
            #expect(try store.replica.conflicts(open: nil).isEmpty)
        }
    }

    @Test("rows that are made apart refer to the right rows, whatever numbers these have here")
    func renumberedTargets() throws {
        let (a, b) = try twoReplicas(Self.orders("NOT NULL"))
        for (store, name) in [(a, "a"), (b, "b")] {
            try store.run(
                """
                INSERT INTO orders VALUES (2, '\(name)'); INSERT INTO line VALUES (2, 7, '\(name)');
                INSERT INTO shipment VALUES (2, 2, 7, '\(name)')
                """)
        }
        try TestStore.sync(a, b)
        let query = """
            SELECT customer, what, state FROM shipment JOIN line USING(order_id, n)
            JOIN orders ON orders.id = order_id ORDER BY state
            """
        for store in [a, b] {
            #expect(
                try store.rows(query) == [
                    ["a", "a", "a"], ["b", "b", "b"], ["Ann", "pen", "new"],
                ])
        }
    }

    @Test("keys of three tables that hang on each other survive edits, deletes and new rows")
    func keysOfKeys() throws {
        let (a, b) = try twoReplicas(
            """
            CREATE TABLE item(w TEXT PRIMARY KEY NOT NULL, note TEXT);
            CREATE TABLE line(r TEXT NOT NULL REFERENCES item(w), n INTEGER NOT NULL, x TEXT,
              PRIMARY KEY(r, n));
            CREATE TABLE pair(g TEXT NOT NULL, p INTEGER NOT NULL, h TEXT NOT NULL,
              k INTEGER NOT NULL, v REAL, PRIMARY KEY(g, p, h, k),
              FOREIGN KEY(g, p) REFERENCES line(r, n), FOREIGN KEY(h, k) REFERENCES line(r, n));
            INSERT INTO item(w) VALUES ('A'), ('B');
            INSERT INTO line VALUES ('A', 1, 'x'), ('B', 2, 'y');
            INSERT INTO pair VALUES ('A', 1, 'B', 2, 1.5), ('B', 2, 'A', 1, 2.5);
            """)
        try b.run("UPDATE pair SET v = 9.5 WHERE g = 'A'")
        try TestStore.sync(a, b)
        #expect(try a.rows("SELECT v FROM pair WHERE g = 'A' AND h = 'B'") == [[9.5]])
        try b.run("DELETE FROM pair WHERE g = 'B'")
        try a.run("UPDATE pair SET v = 8 WHERE g = 'A'")
        try TestStore.sync(a, b)
        for store in [a, b] {
            #expect(try store.rows("SELECT * FROM pair") == [["A", 1, "B", 2, 8.0]])
        }
        try b.run(
            """
            BEGIN; DELETE FROM pair; DELETE FROM line WHERE r = 'A';
            INSERT INTO line VALUES ('A', 1, 'again'); COMMIT
            """)
        try a.run("INSERT INTO pair VALUES ('B', 2, 'A', 1, 33.0)")
        try TestStore.sync(a, b)
        #expect(try a.dump() == b.dump())
        for store in [a, b] {
            #expect(try store.rows("SELECT * FROM pair") == [["B", 2, "A", 1, 33.0]])
            #expect(try store.rows("SELECT x FROM line WHERE r = 'A'") == [["again"]])
        }
    }
}

/// ON DELETE SET DEFAULT: what a row falls back to is asked for wherever a delete is merged.
@Suite("Merging: SET DEFAULT")
struct SetDefaultTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func threeReplicas(_ schema: String) throws -> [TestStore] {
        let a = try TestStore(folder.file("a.db"), schema: schema)
        let snapshot = try a.replica.batches(since: VersionVector())
        return try [a]
            + ["b.db", "c.db"].map { name in
                let path = folder.file(name)
                return try TestStore(path, StoreReplica.create(at: path, from: snapshot[0]))
            }
    }

    private func parentDeletedWhileAChildIsAdded(
        _ stores: [TestStore], _ delete: String, _ insert: String
    ) throws {
        try stores[0].run(delete)
        try stores[1].run(insert)
        for _ in 0..<3 {
            for to in stores {
                for from in stores where from.path != to.path { try to.pull(from: from) }
            }
        }
        let open = try stores[0].replica.openConflicts()
        for store in stores {
            #expect(try store.dump() == stores[0].dump())
            #expect(try store.replica.openConflicts() == open)
            #expect(try store.rows("PRAGMA foreign_key_check").isEmpty)
        }
    }

    @Test("the child falls back on all replicas", arguments: ["", "NOT NULL"])
    func defaultRowIsThere(constraint: String) throws {
        let stores = try threeReplicas(
            """
            CREATE TABLE parent(id TEXT PRIMARY KEY NOT NULL, note TEXT);
            CREATE TABLE child(id TEXT PRIMARY KEY NOT NULL, parent TEXT \(constraint) DEFAULT 'q'
              REFERENCES parent(id) ON DELETE SET DEFAULT);
            INSERT INTO parent(id) VALUES ('p'), ('q');
            """)
        try parentDeletedWhileAChildIsAdded(
            stores, "DELETE FROM parent WHERE id = 'p'", "INSERT INTO child VALUES ('k', 'p')")
        #expect(try stores[1].rows("SELECT * FROM child") == [["k", "q"]])
        #expect(try stores[1].rows("SELECT id FROM parent") == [["q"]])
    }

    @Test("without its default row the child keeps its parent, until that row comes")
    func defaultRowComesLater() throws {
        let stores = try threeReplicas(
            """
            CREATE TABLE parent(id TEXT PRIMARY KEY NOT NULL, note TEXT);
            CREATE TABLE child(id TEXT PRIMARY KEY NOT NULL, parent TEXT DEFAULT 'q'
              REFERENCES parent(id) ON DELETE SET DEFAULT);
            INSERT INTO parent(id) VALUES ('p');
            """)
        try stores[2].run("INSERT INTO parent(id) VALUES ('q')")
        try parentDeletedWhileAChildIsAdded(
            Array(stores[..<2]), "DELETE FROM parent", "INSERT INTO child VALUES ('k', 'p')")
        #expect(try stores[0].rows("SELECT * FROM child") == [["k", "p"]])
        try parentDeletedWhileAChildIsAdded(stores, "SELECT 1", "SELECT 1")
        for store in stores {
            #expect(try store.rows("SELECT * FROM child") == [["k", "q"]])
            #expect(try store.rows("SELECT id FROM parent") == [["q"]])
        }
    }

    @Test("a default of several columns")
    func compositeDefault() throws {
        let stores = try threeReplicas(
            """
            CREATE TABLE parent(k TEXT NOT NULL, n INTEGER NOT NULL, PRIMARY KEY(k, n));
            CREATE TABLE child(id TEXT PRIMARY KEY NOT NULL, k TEXT NOT NULL DEFAULT 'q',
              n INTEGER NOT NULL DEFAULT 2,
              FOREIGN KEY(k, n) REFERENCES parent(k, n) ON DELETE SET DEFAULT);
            INSERT INTO parent VALUES ('p', 1), ('q', 2), ('q', 1);
            """)
        try parentDeletedWhileAChildIsAdded(
            stores, "DELETE FROM parent WHERE k = 'p'", "INSERT INTO child VALUES ('k', 'p', 1)")
        #expect(try stores[1].rows("SELECT * FROM child") == [["k", "q", 2]])
    }
}
