import CSQLite
import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncStorage

/// Programs that limit SQLite as <https://sqlite.org/security.html> recommends read and write
/// tracked tables.
@Suite struct CaptureLimitTests {
    private func limited(_ path: String) throws -> PlainConnection {
        let connection = try PlainConnection(path)
        sqlite3_limit(connection.handle, SQLITE_LIMIT_EXPR_DEPTH, 10)
        sqlite3_limit(connection.handle, SQLITE_LIMIT_COMPOUND_SELECT, 3)
        return connection
    }

    private static let keys = [
        "INTEGER PRIMARY KEY", "TEXT PRIMARY KEY", "TEXT COLLATE NOCASE PRIMARY KEY",
        "PRIMARY KEY", "NUMERIC PRIMARY KEY", "TEXT, l INT, m REAL, PRIMARY KEY(k, l, m)",
        "TEXT COLLATE NOCASE, l, PRIMARY KEY(k, l), WITHOUT ROWID",
    ]

    @Test(arguments: [1, 8, 40, 200], keys)
    func tablesCanBeReadAndWritten(columns count: Int, key: String) throws {
        let folder = try TemporaryFolder()
        let path = folder.file("limits.db")
        let types = ["INTEGER", "", "TEXT COLLATE NOCASE", "NUMERIC", "REAL"]
        let columns = (0..<count).map { "c\($0) \(types[$0 % 5])" }
        let plain = try PlainConnection(path)
        let unique = key.contains(",") ? "" : "CREATE UNIQUE INDEX u ON t(c0);"
        let end = key.contains("WITHOUT") ? "" : ")"
        try plain.run(
            "CREATE TABLE t(\(columns.joined(separator: ", ")), k "
                + key.replacing(", WITHOUT", with: ") WITHOUT") + "\(end); \(unique)")
        for undo in [false, true] {
            try Tracker(path: path).track(options: ["t": CaptureOptions(undo: undo)])
            let db = try limited(path)
            let isComposite = key.contains("l")
            let names = isComposite ? (key.contains("m") ? "k, l, m" : "k, l") : "k"
            let more = isComposite ? (key.contains("m") ? ", 1, 1" : ", 1") : ""
            let before = try db.integer("SELECT coalesce(max(seq), 0) FROM syncd_log")
            try db.run("INSERT INTO t(\(names), c0) VALUES(1\(more), 1), (2\(more), 2)")
            try db.run("UPDATE t SET c\(count - 1) = 7 WHERE k = 1")
            try db.run("REPLACE INTO t(\(names), c0) VALUES(2\(more), 3)")
            try db.run("UPDATE t SET k = 3 WHERE k = 2")
            try db.run("DELETE FROM t")
            let kinds = try RawLog.entries(db, after: before).map(\.kind)
            #expect(
                kinds == [
                    .insert, .insert, .update, .replace, .insert, .delete, .renumber, .insert,
                    .delete, .delete,
                ])
            try Tracker(path: path).untrack()
        }
    }

    /// SQLite turns no real into the integer -2^63, but takes them as equal.
    @Test func smallestIntegerAndItsRealDiffer() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("smallest.db")
        let db = try PlainConnection(path)
        let types = ["NUMERIC", "INTEGER", "DECIMAL(10, 2)", "", "INT"]
        let columns = types.enumerated().map { "c\($0) \($1)" }.joined(separator: ", ")
        let values = Array(repeating: "-9223372036854775808", count: 5).joined(separator: ", ")
        try db.run(
            """
            CREATE TABLE t(id INTEGER PRIMARY KEY, \(columns)); INSERT INTO t VALUES(1, \(values));
            CREATE TABLE k(k NUMERIC PRIMARY KEY, v); INSERT INTO k VALUES(-9223372036854775808, 1);
            """)
        try Tracker(path: path).track()
        for number in types.indices {
            try db.run("UPDATE t SET c\(number) = -9223372036854775808.0")
            #expect(try RawLog.entries(db).last?.changed == [number + 1])
            try db.run("UPDATE t SET c\(number) = -9223372036854775808.0")
            #expect(try RawLog.entries(db).count == number * 2 + 1)
            try db.run("UPDATE t SET c\(number) = -9223372036854775808")
            #expect(try RawLog.entries(db).count == number * 2 + 2)
        }
        let last = try db.integer("SELECT max(seq) FROM syncd_log")
        try db.run("UPDATE k SET k = -9223372036854775808.0")
        #expect(
            try RawLog.entries(db, after: last).map(\.kind) == [.delete, .renumber, .insert])
    }
}
