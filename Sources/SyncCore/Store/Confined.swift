import CSQLite
import GRDB

/// A connection to a store with everything that was prepared on it.
///
/// `@unchecked Sendable`: `state` is made and touched inside the blocks of `queue` only, which run
/// one at a time; ``withState(_:)`` is the one way in.
final class Confined<State>: @unchecked Sendable {
    private let queue: DatabaseQueue
    private var state: State?
    private let make: (OpaquePointer) throws -> State

    init(_ queue: DatabaseQueue, _ make: @escaping (OpaquePointer) throws -> State) {
        self.queue = queue
        self.make = make
    }

    /// Runs `body` on the connection's queue, with the state that was made on first use.
    func withState<Result>(
        _ body: (OpaquePointer, State) throws -> Result
    ) throws -> Result {
        do {
            return try queue.writeWithoutTransaction { database in
                guard let connection = database.sqliteConnection else {
                    throw SyncError(.internalFault, "the connection is closed")
                }
                if let state { return try body(connection, state) }
                let state = try make(connection)
                self.state = state
                return try body(connection, state)
            }
        } catch {
            throw SyncError.wrapping(error)
        }
    }

    /// Finalizes the statements and closes the connection.
    func close() throws {
        queue.writeWithoutTransaction { _ in state = nil }
        try queue.close()
    }
}

/// Transactions by hand, on a connection that GRDB owns.
enum RawTransaction {
    /// Runs `body` in a read transaction: everything it reads is one state of the database.
    static func read<Result>(
        _ connection: OpaquePointer, _ body: () throws -> Result
    ) throws -> Result {
        try run(connection, begin: "BEGIN", body)
    }

    /// Runs `body` in a write transaction.
    /// - Throws: `busy` at once, or after the connection's busy timeout.
    static func write<Result>(
        _ connection: OpaquePointer, _ body: () throws -> Result
    ) throws -> Result {
        try run(connection, begin: "BEGIN IMMEDIATE", body)
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

    static func execute(_ connection: OpaquePointer, _ sql: String) throws {
        let status = sqlite3_exec(connection, sql, nil, nil, nil)
        guard status == SQLITE_OK else { throw SyncError.sqlite(connection, status, sql: sql) }
    }
}
