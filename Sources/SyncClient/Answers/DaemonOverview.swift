import SyncCore

/// How the daemon and its stores are doing, in numbers.
public struct DaemonOverview: Sendable, Equatable {
    /// The daemon's process, and those of its workers.
    public struct Process: Sendable, Equatable {
        /// The version of the daemon.
        public let version: String
        /// When it was started.
        public let started: Timestamp
        /// Connections of clients now.
        public var clients: Int64
        /// Connections that were closed because the client broke a limit or the protocol.
        public var dropped: Int64
        /// Connections that were refused because there were too many.
        public var refused: Int64
        /// Worker processes that run.
        public var workers: Int64
        /// Memory in use, without pages of files, of all these processes.
        public var memoryBytes: Int64

        /// Makes a description of the processes.
        public init(
            version: String, started: Timestamp, clients: Int64, dropped: Int64, refused: Int64,
            workers: Int64, memoryBytes: Int64
        ) {
            self.version = version
            self.started = started
            self.clients = clients
            self.dropped = dropped
            self.refused = refused
            self.workers = workers
            self.memoryBytes = memoryBytes
        }
    }

    /// The daemon's processes.
    public var process: Process
    /// The stores that the caller may read, by path.
    public var stores: [StoreOverview]
    /// The last reload of the configuration failed; nil: there was none, or it succeeded.
    public var reloadFailure: ReloadFailure?

    /// Makes an overview.
    public init(process: Process, stores: [StoreOverview]) {
        self.process = process
        self.stores = stores
    }
}
