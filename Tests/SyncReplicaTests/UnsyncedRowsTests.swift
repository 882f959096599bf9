import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncMerge
@testable import SyncReplica

/// Rows that merging does not cover: they are reported, not changed.
@Suite("Merging: rows that are left out")
struct UnsyncedRowsTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test("rows of an untracked table that lose what they refer to")
    func danglingRows() throws {
        let path = folder.file("a.db")
        let connection = try PlainConnection(path, wal: true)
        try connection.run(
            """
            CREATE TABLE keep(id INTEGER PRIMARY KEY, v TEXT);
            CREATE TABLE local(id INTEGER PRIMARY KEY, keep INTEGER REFERENCES keep(id));
            INSERT INTO keep VALUES (1, 'x'), (2, 'y');
            INSERT INTO local VALUES (1, 1), (2, 1), (3, 2);
            """)
        connection.close()
        try Store.track(path, entities: .only(["keep"]))
        let a = try TestStore(path, StoreReplica(path))
        let b = try a.copy(at: folder.file("b.db"))
        #expect(try a.replica.unsyncedRows().isEmpty)
        try b.run("DELETE FROM keep WHERE id = 1")
        try TestStore.sync(a, b)
        #expect(
            try a.replica.unsyncedRows() == [
                UnsyncedRows(table: "local", count: 2, reason: .dangling(parent: "keep"))
            ])
        #expect(try b.replica.unsyncedRows().isEmpty)
        #expect(try a.rows("SELECT count(*) FROM local") == [[3]])
    }

    @Test("a table without a key is named where all tables are recorded, once it has rows")
    func unrecordedTables() throws {
        let path = folder.file("a.db")
        let a = try TestStore(
            path,
            schema: """
                CREATE TABLE item(id INTEGER PRIMARY KEY, v TEXT);
                CREATE TABLE log(at TEXT, line TEXT);
                CREATE TABLE none(x);
                CREATE VIRTUAL TABLE found USING fts5(text);
                INSERT INTO log VALUES ('now', 'a'); INSERT INTO found VALUES ('a');
                """)
        _ = try a.replica.vector
        #expect(try Store.unrecordedTables(path).map(\.name) == ["log"])
        let left = try a.replica.unsyncedRows()
        #expect(left.map(\.table) == ["log"])
        #expect(
            left.map(\.reason) == [
                .unrecorded(UnrecordedTable(name: "log", reason: .noDeclaredKey))
            ])
        // syncd's own table may have rows, too: those that an INSERT OR IGNORE left.
        try a.run(
            "DELETE FROM log; INSERT INTO none VALUES (1); INSERT INTO syncd_guard(e) VALUES (9)")
        #expect(try a.replica.unsyncedRows().map(\.table) == ["none"])
        // Who chose tables has left it out.
        let other = folder.file("b.db")
        let second = try PlainConnection(other, wal: true)
        try second.run("CREATE TABLE item(id INTEGER PRIMARY KEY); CREATE TABLE log(line TEXT)")
        try second.run("INSERT INTO log VALUES ('a')")
        second.close()
        try Store.track(other, entities: .only(["item"]))
        #expect(try Store.unrecordedTables(other).isEmpty)
    }

    @Test("a table whose foreign keys cannot be merged stops no other table")
    func unmergedTables() throws {
        let path = folder.file("a.db")
        let connection = try PlainConnection(path, wal: true)
        try connection.run(
            """
            CREATE TABLE item(id INTEGER PRIMARY KEY, code TEXT NOT NULL UNIQUE, v TEXT);
            CREATE TABLE coded(id INTEGER PRIMARY KEY, code TEXT REFERENCES item(code));
            CREATE TABLE below(id INTEGER PRIMARY KEY, coded INTEGER REFERENCES coded(id));
            CREATE TABLE team(tenant TEXT NOT NULL, id INTEGER NOT NULL, PRIMARY KEY(tenant, id));
            CREATE TABLE member(id INTEGER PRIMARY KEY, tenant TEXT, team INTEGER, lead INTEGER,
              FOREIGN KEY(tenant, team) REFERENCES team, FOREIGN KEY(tenant, lead) REFERENCES team);
            INSERT INTO item VALUES (1, 'a', 'x'); INSERT INTO coded VALUES (1, 'a');
            """)
        connection.close()
        try Store.track(path)
        #expect(
            try Store.unmergedTables(path).map(\.name).sorted() == ["below", "coded", "member"])
        let a = try TestStore(path, StoreReplica(path))
        let b = try a.copy(at: folder.file("b.db"))
        try a.run("UPDATE item SET v = 'y'; INSERT INTO below VALUES (7, 1)")
        try a.run("INSERT INTO team VALUES ('t', 1)")
        try TestStore.sync(a, b)
        #expect(try b.rows("SELECT v FROM item") == [["y"]])
        #expect(try b.rows("SELECT * FROM team") == [["t", 1]])
        let left = try a.replica.unsyncedRows()
        #expect(left.map(\.table) == ["below", "coded", "member"])
        #expect(left.map(\.count) == [1, 1, 0])
        guard case .unmerged(let reason)? = left.last?.reason else {
            Issue.record("\(left)")
            return
        }
        #expect(reason == "two of its foreign keys share the column tenant")
        // What is merged away below a table that is left out is told, not changed.
        try b.run("DELETE FROM item")
        try TestStore.sync(a, b)
        #expect(
            try a.replica.unsyncedRows().contains(
                UnsyncedRows(table: "coded", count: 1, reason: .dangling(parent: "item"))))
        let opened = try Store.open(a.path)
        #expect(try opened.history().flatMap(\.changes).contains { $0.entity == "below" })
        try opened.close()
    }

    @Test("rows with NULL in the key that are older than history are not sent as one row")
    func nullKeysFromBefore() throws {
        let (a, b) = try TestStore.pair(
            in: folder,
            schema: """
                CREATE TABLE t(k TEXT PRIMARY KEY, v TEXT);
                INSERT INTO t VALUES (NULL, 'x'), ('a', '1'), (NULL, 'y');
                """)
        #expect(try b.rows("SELECT * FROM t") == [["a", "1"]])
        try a.run("UPDATE t SET v = v || '!'")
        try b.run("INSERT INTO t VALUES (NULL, 'z')")
        try TestStore.sync(a, b)
        #expect(try a.rows("SELECT v FROM t ORDER BY v") == [["1!"], ["x!"], ["y!"]])
        #expect(try b.rows("SELECT v FROM t ORDER BY v") == [["1!"], ["z"]])
    }

    @Test("rows with NULL in the key")
    func nullKeys() throws {
        let a = try TestStore(
            folder.file("a.db"),
            schema: """
                CREATE TABLE t(k TEXT PRIMARY KEY, v TEXT);
                CREATE TABLE pair(a TEXT, b TEXT NOT NULL, c TEXT, PRIMARY KEY(a, b, c));
                CREATE TABLE whole(k TEXT PRIMARY KEY) WITHOUT ROWID;
                INSERT INTO t VALUES ('a', '1');
                """)
        #expect(try a.replica.unsyncedRows().isEmpty)
        try a.run(
            "INSERT INTO t VALUES (NULL, 'x'), (NULL, 'y'); INSERT INTO pair VALUES ('a', 'b', NULL)"
        )
        #expect(
            try a.replica.unsyncedRows() == [
                UnsyncedRows(table: "pair", count: 1, reason: .nullKey),
                UnsyncedRows(table: "t", count: 2, reason: .nullKey),
            ])
        #expect(
            try Store.nullKeys(a.path) == [
                NullKeys(table: "pair", count: 1), NullKeys(table: "t", count: 2),
            ])
    }
}
