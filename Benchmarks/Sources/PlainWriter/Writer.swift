import CWriter

/// A connection of a writer that knows nothing of syncd.
public final class Writer {
    /// What SQLite said.
    public struct Failure: Error { public var message: String }

    private var handle: OpaquePointer?

    /// Opens or makes the file, in WAL mode with `synchronous=NORMAL`.
    public init(_ path: String) throws {
        try check(sqlite3_open(path, &handle))
        try run("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL")
    }

    deinit { sqlite3_close_v2(handle) }

    /// Runs statements.
    public func run(_ sql: String) throws { try check(sqlite3_exec(handle, sql, nil, nil, nil)) }

    /// The first value of a query.
    public func integer(_ sql: String) throws -> Int64 {
        var statement: OpaquePointer?
        try check(sqlite3_prepare_v2(handle, sql, -1, &statement, nil))
        defer { sqlite3_finalize(statement) }
        return sqlite3_step(statement) == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0
    }

    /// Reads every row of a query and looks at none.
    public func readAll(_ sql: String) throws {
        var statement: OpaquePointer?
        try check(sqlite3_prepare_v2(handle, sql, -1, &statement, nil))
        defer { sqlite3_finalize(statement) }
        while sqlite3_step(statement) == SQLITE_ROW {}
    }

    /// Writes rows as `writer_run` says, and returns the CPU seconds.
    public func write(
        _ rows: UnsafePointer<writer_row>, count: Int, rowsPerTransaction: Int,
        action: writer_action, key: writer_key, session: Bool = false
    ) throws -> Double {
        let seconds = writer_run(
            handle, rows, Int32(count), Int32(rowsPerTransaction), Int32(action.rawValue),
            Int32(key.rawValue), session ? 1 : 0)
        if seconds < 0 { throw failure() }
        return seconds
    }

    private func check(_ status: Int32) throws {
        if status != SQLITE_OK { throw failure() }
    }

    private func failure() -> Failure { Failure(message: String(cString: sqlite3_errmsg(handle))) }
}
