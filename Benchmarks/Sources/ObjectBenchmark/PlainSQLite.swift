import CWriter
import Foundation

/// SQLite's own interface with prepared statements: the floor.
final class PlainSQLite {
    struct Failure: Error { let message: String }

    private var handle: OpaquePointer?
    private static let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

    init(_ path: String) throws {
        try check(sqlite3_open(path, &handle))
        sqlite3_busy_timeout(handle, 10_000)
        try run("PRAGMA foreign_keys = ON")
    }

    deinit { sqlite3_close_v2(handle) }

    func run(_ sql: String) throws { try check(sqlite3_exec(handle, sql, nil, nil, nil)) }

    /// Steps through every row and reads every column as what it is.
    func readAll(_ sql: String) throws -> Int {
        let statement = try prepare(sql)
        defer { sqlite3_finalize(statement) }
        var rows = 0
        var values: [(Int64, String, String, Int64, Int64, Double, String)] = []
        while sqlite3_step(statement) == SQLITE_ROW {
            values.append(
                (
                    sqlite3_column_int64(statement, 0), text(statement, 1), text(statement, 2),
                    sqlite3_column_int64(statement, 3), sqlite3_column_int64(statement, 4),
                    sqlite3_column_double(statement, 5), text(statement, 6)
                ))
            rows += 1
        }
        return rows + values.count - rows
    }

    func readIDs(_ sql: String) throws -> [Int64] {
        let statement = try prepare(sql)
        defer { sqlite3_finalize(statement) }
        var ids: [Int64] = []
        while sqlite3_step(statement) == SQLITE_ROW {
            ids.append(sqlite3_column_int64(statement, 0))
        }
        return ids
    }

    /// Reads each row by its key.
    func readEach(_ ids: [Int64]) throws -> Int {
        let statement = try prepare(
            "SELECT id, title, note, priority, done, weight, created FROM Item WHERE id = ?")
        defer { sqlite3_finalize(statement) }
        var bytes = 0
        for id in ids {
            sqlite3_reset(statement)
            sqlite3_bind_int64(statement, 1, id)
            if sqlite3_step(statement) == SQLITE_ROW { bytes += text(statement, 1).utf8.count }
        }
        return bytes
    }

    func insert(_ rows: Range<Int>) throws {
        try run("BEGIN IMMEDIATE")
        let statement = try prepare(
            "INSERT INTO Item(id, title, note, priority, done, weight, created)"
                + " VALUES (?, ?, ?, ?, ?, ?, ?)")
        for number in rows {
            let values = ItemValues(number)
            sqlite3_bind_int64(statement, 1, Int64(number + 1))
            sqlite3_bind_text(statement, 2, values.title, -1, Self.transient)
            sqlite3_bind_text(statement, 3, values.note, -1, Self.transient)
            sqlite3_bind_int64(statement, 4, Int64(values.priority))
            sqlite3_bind_int64(statement, 5, 0)
            sqlite3_bind_double(statement, 6, values.weight)
            sqlite3_bind_text(statement, 7, Self.text(values.created), -1, Self.transient)
            _ = sqlite3_step(statement)
            sqlite3_reset(statement)
        }
        sqlite3_finalize(statement)
        try run("COMMIT")
    }

    /// `2026-01-01 12:00:00.000`, put together by hand.
    private static func text(_ date: Date) -> String {
        var seconds = time_t(date.timeIntervalSince1970)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        var buffer = [CChar](repeating: 0, count: 32)
        strftime(&buffer, 32, "%Y-%m-%d %H:%M:%S.000", &parts)
        return String(cString: buffer)
    }

    func update(_ ids: [Int64], _ value: Int) throws {
        try run("BEGIN IMMEDIATE")
        let statement = try prepare("UPDATE Item SET weight = ? WHERE id = ?")
        for id in ids {
            sqlite3_bind_double(statement, 1, Double(value))
            sqlite3_bind_int64(statement, 2, id)
            _ = sqlite3_step(statement)
            sqlite3_reset(statement)
        }
        sqlite3_finalize(statement)
        try run("COMMIT")
    }

    private func prepare(_ sql: String) throws -> OpaquePointer? {
        var statement: OpaquePointer?
        try check(sqlite3_prepare_v2(handle, sql, -1, &statement, nil))
        return statement
    }

    private func text(_ statement: OpaquePointer?, _ column: Int32) -> String {
        sqlite3_column_text(statement, column).map { String(cString: $0) } ?? ""
    }

    private func check(_ status: Int32) throws {
        guard status == SQLITE_OK else {
            throw Failure(message: String(cString: sqlite3_errmsg(handle)))
        }
    }
}
