import SyncCore

/// How a store of the daemon is doing, in numbers: what `synctool status`, `synctool top` and
/// monitoring read. What is counted, is counted since the daemon began to serve the store.
public struct StoreOverview: Sendable, Equatable {
    /// What is in the file that others wait for.
    public struct Contents: Sendable, Equatable {
        /// Log rows that are not in the history tables yet.
        public let pendingRows: Int64
        /// Conflicts of merges that nobody has resolved.
        public let conflicts: Int64
        /// The registered consumers.
        public let consumers: [Consumer]
        /// The other replicas of the store, as far as they are known here.
        public let replicas: [ReplicaLag]

        /// Makes the contents of an overview.
        public init(
            pendingRows: Int64, conflicts: Int64, consumers: [Consumer], replicas: [ReplicaLag]
        ) {
            self.pendingRows = pendingRows
            self.conflicts = conflicts
            self.consumers = consumers
            self.replicas = replicas
        }
    }

    /// What was sent, and what failed.
    public struct Traffic: Sendable, Equatable {
        /// Replies about transactions that were sent to subscribers.
        public var notices: Int64 = 0
        /// How often a subscriber's queue was full, so that it went on from the history.
        public var lagged: Int64 = 0
        /// From a commit that was noticed to its notices, for subscribers that were up to date.
        public var latency = LatencyHistogram()
        /// Failures of work on the store.
        public var errors: Int64 = 0
        /// The last failure; nil: none.
        public var lastError: String?
        /// When it was.
        public var lastErrorTime: Timestamp?

        /// Nothing happened yet.
        public init() {}
    }

    /// The store.
    public let store: StoreSummary
    /// The size of the database file in bytes.
    public let databaseBytes: Int64
    /// The size of its write-ahead log in bytes.
    public let walBytes: Int64
    /// Nil while the store is not open, or cannot be read now.
    public var contents: Contents?
    /// What was sent, and what failed.
    public var traffic = Traffic()
    /// What fails at present; empty too for a store that is not open.
    public var troubles: [StoreTrouble] = []
    /// The remotes that the daemon synchronises it with.
    public var remotes: [RemoteStatus] = []

    /// Makes an overview.
    public init(store: StoreSummary, databaseBytes: Int64, walBytes: Int64) {
        self.store = store
        self.databaseBytes = databaseBytes
        self.walBytes = walBytes
    }

    /// The part of a full status that is an overview.
    public init(_ report: StoreReport) {
        self.init(
            store: report.store, databaseBytes: report.databaseBytes, walBytes: report.walBytes)
        contents = Contents(
            pendingRows: report.pending, conflicts: 0, consumers: report.consumers, replicas: [])
        remotes = report.remotes
    }

    /// How many transactions of the history a consumer has not acknowledged.
    public func behind(_ consumer: Consumer) -> Int64 {
        max(0, (store.head?.number ?? 0) - consumer.acknowledged)
    }

    /// The consumer that a purge waits for: of those that hold history back, the one that is
    /// furthest behind; nil when none is behind.
    public func holdingBack(at now: Timestamp) -> Consumer? {
        contents?.consumers
            .filter { $0.kind != .writer && !$0.isLapsed(at: now) && behind($0) > 0 }
            .min { $0.acknowledged < $1.acknowledged }
    }
}
