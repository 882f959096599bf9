import GRDB
import SyncStorage
import SyncValues
import Synchronization

/// The connection that follows the end of the log and digests: open from the start, closed while
/// the store rests, opened again by the first use after that.
///
/// Invariants:
/// - `users` counts the calls inside ``withState(_:)``; a connection in use is never closed by
///   ``rest(idleFor:)``.
/// - While the store rests, `rest` is what the log was when the connection was closed; the next
///   connection goes on from there, so that nothing is told twice or left out.
package final class LiveConnection: Sendable {
    private struct State {
        var confined: Confined<LiveLog>?
        var rest: LiveLog.Rest?
        var users = 0
        var lastUse = ContinuousClock.now
        var isClosed = false
    }

    private let path: String
    private let identity: StoreIdentity
    private let file: FileIdentity
    private let state: Mutex<State>

    init(
        path: String, identity: StoreIdentity, file: FileIdentity, queue: DatabaseQueue,
        guardedBy sideFiles: SideFilesGuard
    ) {
        self.path = path
        self.identity = identity
        self.file = file
        let confined = Confined(queue, guardedBy: sideFiles) {
            try LiveLog($0, identity: identity)
        }
        state = Mutex(State(confined: confined))
    }

    /// Runs `body` on the connection's queue; opens the connection where the store rests.
    /// - Throws: what `body` throws; what opening throws, `storeReplaced` when another file is at
    ///   the path; `foreignHistory` when the history went back meanwhile.
    package func withState<Result>(
        _ body: (OpaquePointer, LiveLog) throws -> Result
    ) throws -> Result {
        let confined = try state.withLock { state in
            let opened = try state.confined ?? open(after: state)
            state.confined = opened
            state.users += 1
            return opened
        }
        defer {
            state.withLock { state in
                state.users -= 1
                state.lastUse = .now
            }
        }
        return try confined.withState(body)
    }

    /// As ``withState(_:)``, and no use: does nothing while the store rests.
    func withOpenState(_ body: (OpaquePointer, LiveLog) throws -> Void) throws {
        try state.withLock { $0.confined }?.withState(body)
    }

    private func open(after state: State) throws -> Confined<LiveLog> {
        guard !state.isClosed else {
            throw SyncError(.internalFault, "the connection is closed")
        }
        let sideFiles = SideFilesGuard(beforeOpening: path)
        let queue = try DatabaseOpener.open(path, for: .following, expecting: .file(file))
        let (identity, rest) = (identity, state.rest)
        return Confined(queue, guardedBy: sideFiles) {
            try LiveLog($0, identity: identity, resuming: rest)
        }
    }

    /// Whether the -wal and -shm at the path are others than those that it has open.
    var isForsaken: Bool { state.withLock { $0.confined }?.isForsaken ?? false }

    // MARK: Resting

    /// Whether the connection is closed until it is needed.
    var isResting: Bool { state.withLock { $0.confined == nil && !$0.isClosed } }

    /// Whether the connection was not in use for `limit`.
    func isIdle(for limit: Duration) -> Bool {
        state.withLock { $0.users == 0 && $0.lastUse.duration(to: .now) >= limit }
    }

    /// Closes the connection when it was not used for `limit`, all that is committed is in the
    /// history tables, and the WAL has no frame.
    ///
    /// - Returns: whether the store rests.
    /// - Throws: ``SyncError`` when the store cannot be read.
    func rest(idleFor limit: Duration) throws -> Bool {
        try state.withLock { state in
            guard let confined = state.confined else { return true }
            guard state.users == 0, state.lastUse.duration(to: .now) >= limit,
                !confined.isForsaken
            else { return false }
            let rest = try confined.withState { _, live in try live.restIfSettled() }
            guard let rest else { return false }
            try confined.close()
            state.confined = nil
            state.rest = rest
            return true
        }
    }

    // MARK: Closing

    /// Closes the connection for good.
    ///
    /// - Parameter last: what runs on it before, unless the store rests.
    /// - Throws: ``SyncError`` when the connection cannot be closed.
    func close(after last: (OpaquePointer) -> Void = { _ in }) throws {
        try state.withLock { state in
            state.isClosed = true
            try state.confined?.close(after: last)
            state.confined = nil
        }
    }
}
