import GRDB
import Synchronization

/// The connection that serves queries: opened at the first need, closed when idle.
///
/// Everything that was prepared on it goes with it, so that a daemon with a thousand stores pays
/// only for those that are asked.
final class ReadingConnection: Sendable {
    /// What is prepared on the connection.
    final class Prepared {
        let connection: OpaquePointer
        let catalog: EntityCatalog
        let settings: Settings
        let log: LogReader
        private let identity: StoreIdentity

        init(_ connection: OpaquePointer, _ identity: StoreIdentity) throws {
            self.connection = connection
            self.identity = identity
            catalog = try EntityCatalog(connection)
            settings = try Settings(connection)
            log = try LogReader(connection, catalog: catalog)
        }

        /// A resolver of its own for each query: it collects what the query has passed.
        func resolver() throws -> ChangeResolver {
            try ChangeResolver(
                connection, store: identity.store, epoch: identity.epoch, catalog: catalog)
        }
    }

    private let path: String
    private let identity: StoreIdentity
    private let confined = Mutex<Confined<Prepared>?>(nil)

    init(path: String, identity: StoreIdentity) {
        self.path = path
        self.identity = identity
    }

    /// Runs `body` in a read transaction.
    func read<Result>(_ body: (Prepared) throws -> Result) throws -> Result {
        let confined = try self.confined.withLock { confined in
            if let confined { return confined }
            let identity = identity
            let opened = Confined(try StoreConnection.openQueue(path, readOnly: true)) {
                try Prepared($0, identity)
            }
            confined = opened
            return opened
        }
        return try confined.withState { connection, prepared in
            try RawTransaction.read(connection) { try body(prepared) }
        }
    }

    /// Closes the connection; the next read opens it again.
    func close() throws {
        try confined.withLock {
            try $0?.close()
            $0 = nil
        }
    }
}
