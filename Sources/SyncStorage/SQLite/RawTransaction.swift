import CSQLite
import SyncValues

/// Transactions by hand, on a connection that GRDB owns.
package enum RawTransaction {
    /// Runs `body` in a read transaction: everything it reads is one state of the database.
    package static func read<Result>(
        _ connection: OpaquePointer, _ body: () throws -> Result
    ) throws -> Result {
        try run(connection, begin: "BEGIN", body)
    }

    /// Runs `body` in a write transaction.
    /// - Throws: `busy` at once, or after the connection's busy timeout.
    package static func write<Result>(
        _ connection: OpaquePointer, _ body: () throws -> Result
    ) throws -> Result {
        try run(connection, begin: "BEGIN IMMEDIATE", body)
    }

    /// Runs `body` in a write transaction, then `didCommit` if rows were written: a commit of
    /// nothing leaves no trace in the file.
    package static func write<Result>(
        _ connection: OpaquePointer, didCommit: () -> Void, _ body: () throws -> Result
    ) throws -> Result {
        let before = sqlite3_total_changes64(connection)
        let result = try write(connection, body)
        if sqlite3_total_changes64(connection) != before { didCommit() }
        return result
    }

    private static func run<Result>(
        _ connection: OpaquePointer, begin: String, _ body: () throws -> Result
    ) throws -> Result {
        try execute(connection, begin)
        do {
            let result = try body()
            try execute(connection, "COMMIT")
            return result
        } catch {
            // A failed COMMIT or a full disk may have rolled back already.
            if sqlite3_get_autocommit(connection) == 0 { try? execute(connection, "ROLLBACK") }
            throw error
        }
    }

    package static func execute(_ connection: OpaquePointer, _ sql: String) throws {
        let status = sqlite3_exec(connection, sql, nil, nil, nil)
        guard status == SQLITE_OK else { throw SyncError.sqlite(connection, status, sql: sql) }
    }
}
