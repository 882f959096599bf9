import GRDB
import SyncStorage
import SyncValues
import Synchronization

/// The connection that serves queries: opened at the first need, closed when idle.
///
/// Everything that was prepared on it goes with it, so that a daemon with a thousand stores pays
/// only for those that are asked.
package final class ReadingConnection: Sendable {
    /// What is prepared on the connection.
    package final class Prepared {
        package let connection: OpaquePointer
        let catalog: EntityCatalog
        let settings: Settings
        let log: LogReader
        /// Knows the births of what earlier queries have passed, so that the next page of a backlog
        /// does not go through all of it again.
        let resolver: ChangeResolver

        init(_ connection: OpaquePointer, _ identity: StoreIdentity) throws {
            self.connection = connection
            catalog = try EntityCatalog(connection)
            settings = try Settings(connection)
            log = try LogReader(connection, catalog: catalog)
            resolver = try ChangeResolver(
                connection, store: identity.store, epoch: identity.epoch, catalog: catalog)
        }
    }

    private struct State {
        var confined: Confined<Prepared>?
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
    package func read<Result>(_ body: (Prepared) throws -> Result) throws -> Result {
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
            try RawTransaction.read(connection) { try body(prepared) }
        }
    }

    private func open() throws -> Confined<Prepared> {
        let identity = identity
        return Confined(
            try StoreConnection.openQueue(path, readOnly: true, expecting: .file(file))
        ) {
            try Prepared($0, identity)
        }
    }

    /// Closes the connection when nobody has read for so long; the next read opens it again.
    func close(unusedFor limit: Duration) throws {
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
