import CSQLite
import SyncStorage
import SyncValues

/// A plain SQLite connection, as a writer in any other language has it: it knows nothing of syncd,
/// and foreign keys are off until ``run(_:)`` switches them on.
///
/// Several threads may use one: SQLite runs one call after the other. What one thread does in a
/// transaction is not kept from the others.
package final class PlainConnection: @unchecked Sendable {  // SQLITE_OPEN_FULLMUTEX guards it
    /// Valid until ``close()``.
    package let handle: OpaquePointer
    private var isOpen = true

    /// Opens a file, which is made when it does not exist. It waits ten seconds for a lock.
    /// - Parameter wal: whether it sets the journal mode of the file to WAL.
    /// - Throws: `SyncError` when SQLite refuses.
    package init(_ path: String, wal: Bool = false) throws {
        var opened: OpaquePointer?
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX
        let status = sqlite3_open_v2(path, &opened, flags, nil)
        guard status == SQLITE_OK, let handle = opened else {
            defer { sqlite3_close_v2(opened) }
            throw SyncError.sqlite(on: opened, status: status)
        }
        self.handle = handle
        sqlite3_busy_timeout(handle, 10_000)
        if wal { try run("PRAGMA journal_mode=WAL") }
    }

    deinit { close() }

    /// Defines a collation that SQLite does not have, as an application does: it takes texts for
    /// equal whose ASCII letters differ in case alone.
    package func defineCollation(_ name: String) {
        sqlite3_create_collation(handle, name, SQLITE_UTF8, nil) {
            _, firstCount, first, count, bytes in
            let left = UnsafeRawBufferPointer(start: first, count: Int(firstCount))
            let right = UnsafeRawBufferPointer(start: bytes, count: Int(count))
            func folded(_ byte: UInt8) -> UInt8 { (65...90).contains(byte) ? byte + 32 : byte }
            let (one, other) = (left.map(folded), right.map(folded))
            return one == other ? 0 : one.lexicographicallyPrecedes(other) ? -1 : 1
        }
    }

    /// Closes it before it goes; a second call does nothing.
    package func close() {
        if isOpen { sqlite3_close_v2(handle) }
        isOpen = false
    }

    /// Runs statements one after the other; the first failure ends it.
    /// - Throws: `SyncError` for what SQLite refuses.
    package func run(_ sql: String) throws {
        let status = sqlite3_exec(handle, sql, nil, nil, nil)
        if status != SQLITE_OK { throw SyncError.sqlite(on: handle, status: status, sql: sql) }
    }

    /// The rows of one query.
    /// - Throws: `SyncError` for what SQLite refuses.
    package func rows(_ sql: String) throws -> [[Value]] {
        let statement = try Statement(sql, on: handle)
        var rows: [[Value]] = []
        while try statement.step() {
            rows.append((0..<statement.columnCount).map { statement.value($0) })
        }
        return rows
    }

    /// The first value of a query; null when it has no row.
    /// - Throws: `SyncError` for what SQLite refuses.
    package func value(_ sql: String) throws -> Value { try rows(sql).first?.first ?? .null }

    /// The first value of a query as a number; 0 when it has no row, or none that is a number.
    /// - Throws: `SyncError` for what SQLite refuses.
    package func integer(_ sql: String) throws -> Int64 {
        if case .integer(let number) = try value(sql) { return number }
        return 0
    }

    /// The first value of each row as text.
    /// - Throws: `SyncError` for what SQLite refuses.
    package func strings(_ sql: String) throws -> [String] {
        try rows(sql).map { row in
            if case .text(let text) = row[0] { return text }
            return row[0].description
        }
    }

    package var inTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

    /// Runs what it is given as a program that has switched triggers off.
    package func withoutTriggers(_ body: () throws -> Void) rethrows {
        syncd_sqlite_enable_triggers(handle, 0)
        defer { syncd_sqlite_enable_triggers(handle, 1) }
        try body()
    }

    /// Everything that the file holds, in the manner of the shell's `.dump`: schema and rows with
    /// their exact values, and what belongs to SQLite itself.
    /// - Throws: `SyncError` for what SQLite refuses.
    package func dump() throws -> [String] {
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
