import CSQLite

@testable import SyncCore
@testable import SyncStorage
@testable import SyncValues

/// A plain SQLite connection, as a writer in any other language would have it.
final class RawConnection {
    let handle: OpaquePointer

    init(_ path: String, wal: Bool = false) throws {
        var handle: OpaquePointer?
        let status = sqlite3_open(path, &handle)
        guard status == SQLITE_OK, let handle else { throw SyncError.sqlite(handle, status) }
        self.handle = handle
        sqlite3_busy_timeout(handle, 5_000)
        if wal { try run("PRAGMA journal_mode=WAL") }
    }

    deinit { sqlite3_close_v2(handle) }

    /// Runs statements one after the other; the first failure ends it.
    func run(_ sql: String) throws {
        let status = sqlite3_exec(handle, sql, nil, nil, nil)
        if status != SQLITE_OK { throw SyncError.sqlite(handle, status, sql: sql) }
    }

    func rows(_ sql: String) throws -> [[Value]] {
        let statement = try Statement(handle, sql)
        var rows: [[Value]] = []
        while try statement.step() {
            rows.append((0..<statement.columnCount).map { statement.value($0) })
        }
        return rows
    }

    func value(_ sql: String) throws -> Value { try rows(sql).first?.first ?? .null }

    func strings(_ sql: String) throws -> [String] {
        try rows(sql).map { row in
            if case .text(let text) = row[0] { return text }
            return row[0].description
        }
    }

    var inTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

    /// Everything that the file holds, in the manner of the shell's `.dump`: schema and rows with
    /// their exact values, and what belongs to SQLite itself.
    func dump() throws -> [String] {
        var lines: [String] = []
        for row in try rows("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY rowid") {
            lines.append(row.map(\.description).joined(separator: "|"))
            guard row[0] == "table", case .text(let name) = row[1] else { continue }
            lines += try rows("SELECT * FROM \(SQLName.quoted(name))").map { values in
                values.map(\.description).joined(separator: ",")
            }
        }
        return lines
    }
}
