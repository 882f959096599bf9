import SyncCore

/// How a remote of a store is, as the daemon synchronises it.
public struct RemoteStatus: Sendable, Hashable {
    /// What the daemon does with it.
    public enum State: String, Sendable, Hashable {
        /// It waits for the next commit, notice or interval.
        case idle
        /// An exchange is under way.
        case syncing
        /// The last exchange failed; it is tried again.
        case failed
    }

    /// The remote's name.
    public let name: String
    /// Its address.
    public let url: String
    /// What the daemon does with it.
    public let state: State
    /// When it was synchronised last; nil: not since the daemon started.
    public let lastSync: Timestamp?
    /// Since when something waits to be sent; nil: nothing does.
    public let behindSince: Timestamp?
    /// Why the last exchange failed.
    public let error: String?

    /// Makes a status.
    public init(
        name: String, url: String, state: State, lastSync: Timestamp?, behindSince: Timestamp?,
        error: String?
    ) {
        self.name = name
        self.url = url
        self.state = state
        self.lastSync = lastSync
        self.behindSince = behindSince
        self.error = error
    }
}
