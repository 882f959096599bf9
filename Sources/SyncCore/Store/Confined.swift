import GRDB
import SyncStorage
import SyncValues

/// A connection to a store with everything that was prepared on it.
///
/// `@unchecked Sendable`: `state` is made and touched inside the blocks of `queue` only, which run
/// one at a time; ``withState(_:)`` is the one way in.
package final class Confined<State>: @unchecked Sendable {
    private let queue: DatabaseQueue
    private var state: State?
    private var isClosed = false
    private var sideFiles: SideFilesGuard
    private let make: (OpaquePointer) throws -> State

    init(
        _ queue: DatabaseQueue, guardedBy sideFiles: SideFilesGuard,
        making make: @escaping (OpaquePointer) throws -> State
    ) {
        self.queue = queue
        self.sideFiles = sideFiles
        self.make = make
    }

    /// Runs `body` on the connection's queue, with the state that was made on first use.
    /// - Throws: what `body` throws; a ``SyncError`` for what GRDB throws.
    package func withState<Result>(
        _ body: (OpaquePointer, State) throws -> Result
    ) throws -> Result {
        do {
            return try queue.writeWithoutTransaction { database in
                guard !isClosed, let connection = database.sqliteConnection else {
                    throw SyncError(.internalFault, "the connection is closed")
                }
                defer { sideFiles.noteUse(of: connection) }
                if let state { return try body(connection, state) }
                let state = try make(connection)
                self.state = state
                return try body(connection, state)
            }
        } catch {
            if let known = SyncError(wrapping: error) { throw known }
            throw error
        }
    }

    /// Whether the -wal and -shm that the connection has open are not those at the path any more.
    var isForsaken: Bool {
        queue.writeWithoutTransaction { _ in sideFiles.isForsaken }
    }

    /// Finalizes the statements and closes the connection.
    ///
    /// - Parameter last: what runs on it before, and nothing after it; unless it ``isForsaken``.
    func close(after last: (OpaquePointer) -> Void = { _ in }) throws {
        queue.writeWithoutTransaction { database in
            state = nil
            if !isClosed, let connection = database.sqliteConnection {
                if !sideFiles.isForsaken { last(connection) }
                sideFiles.release(connection)
            }
            isClosed = true
        }
        try queue.close()
    }
}
