import CWriter

/// A connection of a writer that knows nothing of syncd.
final class Writer {
    struct Failure: Error { var message: String }

    private var handle: OpaquePointer?

    init(_ path: String) throws {
        try check(sqlite3_open(path, &handle))
        try run("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL")
    }

    deinit { sqlite3_close_v2(handle) }

    func run(_ sql: String) throws { try check(sqlite3_exec(handle, sql, nil, nil, nil)) }

    func integer(_ sql: String) throws -> Int64 {
        var statement: OpaquePointer?
        try check(sqlite3_prepare_v2(handle, sql, -1, &statement, nil))
        defer { sqlite3_finalize(statement) }
        return sqlite3_step(statement) == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0
    }

    /// Writes the whole workload and returns its CPU seconds.
    func write(
        _ rows: UnsafePointer<writer_row>, _ workload: Workload, action: writer_action,
        rowsPerTransaction: Int
    ) throws -> Double {
        let seconds = writer_run(
            handle, rows, Int32(workload.rows), Int32(rowsPerTransaction), Int32(action.rawValue),
            Int32(workload.key.rawValue))
        if seconds < 0 { throw failure() }
        return seconds
    }

    private func check(_ status: Int32) throws {
        if status != SQLITE_OK { throw failure() }
    }

    private func failure() -> Failure { Failure(message: String(cString: sqlite3_errmsg(handle))) }
}
