import CSQLite
import SyncValues

/// Explicit transactions on a connection that GRDB owns.
package enum RawTransaction {
    /// Runs `body` in a read transaction: everything it reads is one state of the database.
    /// - Throws: what `body` throws, after a rollback; the error of SQLite.
    package static func read<Result>(
        on connection: OpaquePointer, _ body: () throws -> Result
    ) throws -> Result {
        try run(on: connection, begin: "BEGIN", body)
    }

    /// Runs `body` in a write transaction.
    /// - Throws: `busy` at once, or after the busy timeout; what `body` throws, after a
    ///   rollback.
    package static func write<Result>(
        on connection: OpaquePointer, _ body: () throws -> Result
    ) throws -> Result {
        try run(on: connection, begin: "BEGIN IMMEDIATE", body)
    }

    /// Runs `body` in a write transaction, then `didCommit` if rows were written: a commit of
    /// nothing leaves no trace in the file.
    /// - Throws: as ``write(on:_:)``.
    package static func write<Result>(
        on connection: OpaquePointer, didCommit: () -> Void, _ body: () throws -> Result
    ) throws -> Result {
        let before = sqlite3_total_changes64(connection)
        let result = try write(on: connection, body)
        if sqlite3_total_changes64(connection) != before { didCommit() }
        return result
    }

    private static func run<Result>(
        on connection: OpaquePointer, begin: String, _ body: () throws -> Result
    ) throws -> Result {
        try execute(begin, on: connection)
        do {
            let result = try body()
            try execute("COMMIT", on: connection)
            return result
        } catch {
            // A failed COMMIT or a full disk may have rolled back already.
            if sqlite3_get_autocommit(connection) == 0 { try? execute("ROLLBACK", on: connection) }
            throw error
        }
    }

    /// Runs statements that have no parameters and whose rows are not wanted.
    /// - Throws: the error of SQLite, with the SQL in its reason.
    package static func execute(_ sql: String, on connection: OpaquePointer) throws {
        let status = sqlite3_exec(connection, sql, nil, nil, nil)
        guard status == SQLITE_OK else {
            throw SyncError.sqlite(on: connection, status: status, sql: sql)
        }
    }
}
