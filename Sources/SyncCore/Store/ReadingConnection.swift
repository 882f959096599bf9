import CSQLite
import GRDB
import SyncStorage
import Synchronization

/// The connection that serves queries: opened when first needed, closed when idle.
///
/// Its prepared statements are released with it, so that a daemon with a thousand stores pays only
/// for those in use.
package final class ReadingConnection: Sendable {
    private struct State {
        var confined: Confined<PreparedReader>?
        /// Reads under way: the connection stays.
        var users = 0
        var lastUse = ContinuousClock.now
    }

    private let path: String
    private let identity: StoreIdentity
    private let file: FileIdentity
    private let state = Mutex(State())

    init(path: String, identity: StoreIdentity, file: FileIdentity) {
        self.path = path
        self.identity = identity
        self.file = file
    }

    /// Runs `body` in a read transaction.
    /// - Throws: what `body` throws; what opening throws, `storeReplaced` when the file was
    ///   replaced.
    package func read<Result>(_ body: (PreparedReader) throws -> Result) throws -> Result {
        let confined = try state.withLock { state in
            let opened = try state.confined ?? open()
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
        return try confined.withState { connection, prepared in
            try RawTransaction.read(on: connection) {
                try prepared.noticeSchemaChange()
                return try body(prepared)
            }
        }
    }

    private func open() throws -> Confined<PreparedReader> {
        let identity = identity
        let sideFiles = SideFilesGuard(beforeOpening: path)
        let queue = try DatabaseOpener.open(path, for: .reading, expecting: .file(file))
        return Confined(queue, guardedBy: sideFiles) {
            try PreparedReader($0, identity: identity)
        }
    }

    /// Releases the pages that an open connection keeps.
    func releaseMemory() throws {
        guard let confined = state.withLock({ $0.confined }) else { return }
        try confined.withState { connection, _ in _ = sqlite3_db_release_memory(connection) }
    }

    var isOpen: Bool { state.withLock { $0.confined != nil } }

    /// Closes the connection when it was not used for `limit`; the next read opens it again.
    func close(idleFor limit: Duration) throws {
        try state.withLock { state in
            guard state.users == 0, state.lastUse.duration(to: .now) >= limit else { return }
            try state.confined?.close()
            state.confined = nil
        }
    }

    /// Closes the connection; the next read opens it again.
    func close() throws {
        try state.withLock { state in
            try state.confined?.close()
            state.confined = nil
        }
    }
}
