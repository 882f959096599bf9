import Testing

@testable import SyncCore
@testable import SyncStorage
@testable import SyncValues

/// The view `syncd_history`, which any program can read.
@Suite struct HistoryViewTests {
    private let database: TestDatabase

    init() throws {
        database = try TestDatabase(
            "CREATE TABLE t(id INTEGER PRIMARY KEY, a)",
            "CREATE TABLE pair(x, y, PRIMARY KEY(x, y)) WITHOUT ROWID")
    }

    @Test func itShowsWhatHistoryHas() throws {
        let store = try database.store()
        try database.sql(
            """
            BEGIN; INSERT INTO syncd_txn(author, context, pid, process) VALUES ('ann', 'c', 7, 'p');
            INSERT INTO t VALUES (1, 'x'); INSERT INTO pair VALUES (1, 2);
            INSERT INTO syncd_txn(author) VALUES (NULL); COMMIT
            """)
        _ = try store.poll()
        try database.sql("UPDATE t SET a = 'y'; DELETE FROM t")
        while try store.digest() {}
        let rows = try database.rows(
            "SELECT number, time, author, context, process, pid, flags, entity, kind, key "
                + "FROM syncd_history ORDER BY number, entity")
        let history = try store.history()
        #expect(rows.count == history.reduce(0) { $0 + $1.changes.count })
        let first = try #require(history.first)
        let shared: [Value] = [
            .integer(first.number), .text(first.timestamp.description), "ann", "c", "p", 7, 0,
        ]
        #expect(rows[0] == shared + ["pair", "insert", .null])
        #expect(rows[1] == shared + ["t", "insert", 1])
        #expect(rows.dropFirst(2).allSatisfy { $0[2] == .null && $0[9] == 1 })
    }

    @Test func aStoreOfBeforeGetsItAndUntrackRemovesIt() throws {
        let dump = "SELECT type, name, sql FROM sqlite_schema ORDER BY name"
        let before = try database.rows(dump)
        let store = try database.store()
        try database.sql("DROP VIEW syncd_history")
        #expect(try store.verifyCapture().isEmpty, "it is not missed")
        try store.repairCapture()
        #expect(try database.rows("SELECT * FROM syncd_history").isEmpty)
        #expect(try store.verifyCapture().isEmpty)
        try store.close()
        try Store.untrack(database.path)
        #expect(try database.rows(dump) == before)
    }
}
