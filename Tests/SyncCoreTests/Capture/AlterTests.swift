import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncValues

/// Statements as other tools print them, and as users mistype them.
@Suite struct AlterTests {
    private let database: TestDatabase

    init() throws {
        database = try TestDatabase("CREATE TABLE t(id INTEGER PRIMARY KEY, a, b)")
        try Store.track(database.path)
    }

    private func message(_ sql: String) -> String {
        do {
            try Store.alter(database.path, running: sql)
            return ""
        } catch { return "\(error)" }
    }

    @Test func whatSqlmigratePrintsRuns() throws {
        try Store.alter(
            database.path,
            running: """
                BEGIN;
                --
                -- Remove field b from t
                --
                ALTER TABLE "t" DROP COLUMN "b";
                /* done */ COMMIT;
                """)
        try Store.alter(
            database.path,
            running: "BEGIN IMMEDIATE TRANSACTION; ALTER TABLE t ADD COLUMN c; END TRANSACTION")
        #expect(
            try database.rows("SELECT name FROM pragma_table_info('t')") == [["id"], ["a"], ["c"]])
        for word in ["ROLLBACK", "SAVEPOINT s", "VACUUM"] {
            #expect(throws: SyncError(.invalidArgument, "")) {
                try Store.alter(database.path, running: "BEGIN; \(word); COMMIT")
            }
        }
    }

    /// Nobody else writes while the triggers are out of the way.
    @Test(arguments: [true, false]) func rowsOfOtherTablesAreNoChanges(isDigested: Bool) throws {
        try database.sql("CREATE TABLE other(id INTEGER PRIMARY KEY, x)")
        try Store.track(database.path, options: ["other": CaptureOptions(undo: true)])
        let store = try Store.open(database.path)
        while try store.digest() {}
        try database.sql("INSERT INTO other VALUES (1, 'x'), (2, 'y')")
        try database.sql("UPDATE other SET x = 'z' WHERE id = 2")
        if isDigested { _ = try store.digest() }
        try Store.alter(database.path, running: "ALTER TABLE t DROP COLUMN b")
        let history = try store.history()
        #expect(
            history.flatMap(\.changes).map(\.object.path) == ["other/1", "other/2", "other/2"])
        #expect(history.allSatisfy { !$0.flags.contains(.recovered) })
        try store.close()
    }

    /// What was missed before is found all the same.
    @Test func whatWasMissedBeforeIsFound() throws {
        let store = try Store.open(database.path)
        try database.sql("INSERT INTO t VALUES (1, 'x', 'y')")
        while try store.digest() {}
        try database.sql("DROP TRIGGER syncd_1_u_use_synctool_migrate; UPDATE t SET a = 'z'")
        try Store.alter(database.path, running: "ALTER TABLE t DROP COLUMN b")
        let last = try #require(try store.history().last)
        #expect(last.flags.contains(.recovered) && last.changes.map(\.kind) == [.update])
        try store.close()
    }

    @Test func noStatementIsAnError() {
        for sql in ["", "  ", ";", "-- nothing\n", "BEGIN; COMMIT;"] {
            #expect(message(sql).contains("no statement"), "\(sql)")
        }
    }

    @Test func namesAreQuotedOnce() {
        #expect(
            message("ALTER TABLE t DROP COLUMN \"extra\"").contains("no such column: \"extra\" "))
        #expect(message("ALTER TABLE t DROP COLUMN extra").contains("no such column: \"extra\" "))
        #expect(message("DROP TABEL t").contains("syntax error"))
    }

    @Test func aTableDoesNotLoseItsKey() throws {
        let rebuild = "CREATE TABLE n(id, a, b); DROP TABLE t; ALTER TABLE n RENAME TO t"
        #expect(message(rebuild).contains("t could not be tracked any more"))
        #expect(try database.rows("SELECT pk FROM pragma_table_info('t')") == [[1], [0], [0]])
        #expect(message("DROP TABLE t") == "", "a table may be dropped")
    }
}
