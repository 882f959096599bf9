import SyncCore
import Varlink

/// A store as the daemon knows it.
public struct StoreSummary: Sendable, Equatable {
    /// Whether the daemon has it open.
    public enum State: String, Sendable, Hashable {
        /// Watched and served.
        case open
        /// Its file is gone; it is opened when it comes back.
        case missing
        /// It cannot be opened; ``StoreSummary/error`` says why.
        case failed
    }

    /// The database file, links resolved.
    public let path: String
    /// Whether the daemon has it open.
    public let state: State
    /// Its name; nil while it is not open.
    public let id: StoreID?
    /// This copy's name; nil while it is not open.
    public let replica: ReplicaID?
    /// The end of its history; nil while it is not open.
    public let head: Token?
    /// How many subscriptions there are.
    public let subscribers: Int
    /// Why it is not open.
    public let error: SyncError?

    /// Makes a summary.
    public init(
        path: String, state: State, id: StoreID?, replica: ReplicaID?, head: Token?,
        subscribers: Int, error: SyncError?
    ) {
        self.path = path
        self.state = state
        self.id = id
        self.replica = replica
        self.head = head
        self.subscribers = subscribers
        self.error = error
    }
}

/// A table of a tracked database, and what capture does with it.
public struct TableSummary: Sendable, Hashable {
    /// The table's name.
    public let name: String
    /// `tracked`, or `skipped`: left alone.
    public let outcome: String
    /// Why it is left alone.
    public let reason: String?
    /// What helps.
    public let hint: String?

    /// Makes a summary.
    public init(name: String, outcome: String, reason: String? = nil, hint: String? = nil) {
        self.name = name
        self.outcome = outcome
        self.reason = reason
        self.hint = hint
    }
}

/// All that the daemon knows of a store.
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
    /// What is wrong with it; empty when all is well.
    public let findings: [String]
    /// The remotes that the daemon synchronises it with.
    public var remotes: [RemoteStatus] = []

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

/// A held object as it is.
public struct HeldObject: Sendable, Hashable {
    /// The object; its incarnation is that of the present object.
    public let object: ObjectID
    /// False: there is no row with this key.
    public let isPresent: Bool

    /// Makes a state.
    public init(object: ObjectID, isPresent: Bool) {
        self.object = object
        self.isPresent = isPresent
    }
}

extension TableSummary {
    /// What tracking did with a table.
    public init(_ entry: TrackReport.Entry) {
        switch entry.outcome {
        case .tracked, .alreadyTracked: self.init(name: entry.table, outcome: "tracked")
        case .leftAlone(let reason):
            self.init(name: entry.table, outcome: "skipped", reason: reason.explanation)
        }
    }
}
