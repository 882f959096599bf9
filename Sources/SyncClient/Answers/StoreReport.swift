import SyncCore
import Varlink

/// The full status of a store.
public struct StoreReport: Sendable, Equatable {
    /// The store.
    public let store: StoreSummary
    /// Log rows that are not in the history tables yet.
    public let pending: Int64
    /// The size of the database file in bytes.
    public let databaseBytes: Int64
    /// The size of its write-ahead log in bytes.
    public let walBytes: Int64
    /// The tracked tables.
    public let entities: [TableSummary]
    /// The registered consumers.
    public let consumers: [Consumer]
    /// The problems found; empty: none.
    public let findings: [String]
    /// The remotes that the daemon synchronises it with.
    public var remotes: [RemoteStatus] = []
    /// When all rows were last compared with the history; nil: never, or the daemon is older.
    public var compared: Timestamp?
    /// The file is not the daemon's own: the daemon uses the remotes of its configuration alone.
    public var ignoresRemotes = false

    /// Makes a report.
    public init(
        store: StoreSummary, pending: Int64, databaseBytes: Int64, walBytes: Int64,
        entities: [TableSummary], consumers: [Consumer], findings: [String]
    ) {
        self.store = store
        self.pending = pending
        self.databaseBytes = databaseBytes
        self.walBytes = walBytes
        self.entities = entities
        self.consumers = consumers
        self.findings = findings
    }
}
