import SyncCore
import Varlink

/// A store of the daemon.
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
    /// Its identifier; nil while it is not open.
    public let id: StoreID?
    /// The identifier of this copy; nil while it is not open.
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
