import CSQLite
import Foundation

@testable import SyncCore
@testable import SyncStorage
@testable import SyncValues

/// A plain connection, as a foreign writer has it.
final class TestConnection {
    let handle: OpaquePointer

    init(_ path: String) throws {
        var handle: OpaquePointer?
        let status = sqlite3_open_v2(
            path, &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX, nil)
        guard status == SQLITE_OK, let handle else { throw SyncError.sqlite(handle, status) }
        self.handle = handle
        sqlite3_busy_timeout(handle, 10_000)
    }

    deinit { sqlite3_close_v2(handle) }

    func run(_ sql: String) throws {
        let status = sqlite3_exec(handle, sql, nil, nil, nil)
        guard status == SQLITE_OK else { throw SyncError.sqlite(handle, status, sql: sql) }
    }

    func integer(_ sql: String) throws -> Int64 {
        let statement = try Statement(handle, sql)
        guard try statement.step() else { return 0 }
        return statement.integer(0)
    }

    /// The log and two user tables whose changes it records; `other` is not tracked.
    func makeLog() throws {
        try run(
            """
            CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT, n INT);
            CREATE TABLE other(id INTEGER PRIMARY KEY, x);
            CREATE TABLE syncd_log(seq INTEGER PRIMARY KEY, op INTEGER, m INTEGER, ts REAL,
              pk, v0, v1, v2, v3, v4, v5);
            CREATE TRIGGER ti AFTER INSERT ON t BEGIN
              INSERT INTO syncd_log(op, ts, pk) VALUES (9, julianday('now'), NEW.id); END;
            CREATE TRIGGER tu AFTER UPDATE ON t BEGIN
              INSERT INTO syncd_log(op, m, ts, pk, v0)
                VALUES (10, 4, julianday('now'), NEW.id, NEW.a);
            END;
            CREATE TRIGGER td AFTER DELETE ON t BEGIN
              INSERT INTO syncd_log(op, ts, pk, v0, v1)
                VALUES (11, julianday('now'), OLD.id, OLD.a, OLD.n);
            END;
            """)
    }
}

/// A folder that goes away with the test.
final class TestFolder {
    let path: String

    init() throws {
        path = NSTemporaryDirectory() + "/syncd-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}
