import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncMerge
@testable import SyncReplica
@testable import SyncStorage
@testable import SyncValues

/// A column may have another type here than on the replica that wrote a value: SQLite converts it.
@Suite("Merging: values that the column stores otherwise")
struct ConvertedValueTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test("the tables show what the column stores, and that is no change of this replica")
    func otherTypes() throws {
        let (a, b) = try TestStore.pair(
            in: folder,
            schema: """
                CREATE TABLE t(id TEXT PRIMARY KEY, v BLOB, w BLOB, r BLOB);
                INSERT INTO t VALUES ('x', 1, '2', 3);
                """)
        try b.run(
            """
            BEGIN; CREATE TABLE other(id TEXT PRIMARY KEY, v TEXT, w INTEGER, r REAL);
            INSERT INTO other SELECT * FROM t; DROP TABLE t;
            ALTER TABLE other RENAME TO t; COMMIT
            """)
        try TestStore.sync(a, b)
        try a.run("UPDATE t SET v = 7, w = '8', r = 9")
        try a.run("INSERT INTO t VALUES ('y', 1.5, 'text', x'00')")
        try b.pull(from: a)
        #expect(
            try b.rows("SELECT * FROM t ORDER BY id") == [
                ["x", "7", 8, .real(9)], ["y", "1.5", "text", .blob([0])],
            ])
        let before = try b.replica.vector
        try a.run("UPDATE t SET r = 10 WHERE id = 'x'")
        try b.pull(from: a)
        #expect(try b.replica.vector[b.replica.replicaID] == before[b.replica.replicaID])
        #expect(try b.rows("SELECT v, r FROM t WHERE id = 'x'") == [["7", .real(10)]])
    }

    @Test(
        "history has the columns that differ as they are stored, in any encoding",
        arguments: ["UTF-8", "UTF-16le"])
    func changedColumns(encoding: String) throws {
        let (a, b) = try TestStore.pair(
            in: folder,
            schema: """
                PRAGMA encoding = '\(encoding)';
                CREATE TABLE t(id TEXT PRIMARY KEY, v BLOB, w BLOB, r BLOB, n BLOB, u TEXT);
                INSERT INTO t VALUES ('x', 1, '2', 3, 4, 'é' || char(0) || 'z');
                """)
        try b.run(
            """
            BEGIN;
            CREATE TABLE other(id TEXT PRIMARY KEY, v TEXT, w INTEGER, r REAL, n NUMERIC, u TEXT);
            INSERT INTO other SELECT * FROM t; DROP TABLE t;
            ALTER TABLE other RENAME TO t; COMMIT
            """)
        try Store.track(b.path, options: ["t": CaptureOptions(undo: true)])
        try TestStore.sync(a, b)
        let former = b.replica.tally.laneObjects
        try a.run(
            """
            UPDATE t SET v = 7, w = 3, r = 9, u = 'x';
            UPDATE t SET v = 1, w = '2', r = 3, n = 8, u = 'é' || char(0) || 'z'
            """)
        try b.pull(from: a)
        #expect(b.replica.tally.laneObjects == former + 1)
        #expect(
            try b.rows("SELECT v, w, r, n, u FROM t") == [["1", 2, .real(3), 8, "é\0z"]])
        let opened = try Store.open(b.path)
        defer { try? opened.close() }
        let change = try #require(
            try opened.history().last { $0.flags.contains(.remote) }?.changes.last)
        #expect(change.properties == ["n"])
        #expect(change.oldValues == NamedValues([.init(name: "n", value: 4)]))
    }
}
