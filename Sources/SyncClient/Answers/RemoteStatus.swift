import SyncCore

/// The state of a remote that the daemon synchronises a store with.
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
    /// When an exchange last succeeded; nil: none since the daemon started.
    public let lastSync: Timestamp?
    /// Since when there are unsent changes; nil: there are none, or it is not known (``behind``).
    public let behindSince: Timestamp?
    /// Why the last exchange failed.
    public let error: String?
    /// What to do about it; nil: nothing is known.
    public var hint: String?
    /// How many transactions of this replica were not sent. Until an exchange has succeeded since
    /// the daemon started: at least this number, and nil where nothing is known.
    public var behind: Int64?
    /// Since when exchanges have failed; nil: the last one did not.
    public var failingSince: Timestamp?
    /// How many exchanges have failed since the daemon started.
    public var failures: Int64 = 0

    /// Whether the daemon uses the remote, and what it lacks is not known.
    public var isUnknown: Bool { behind == nil && (error == nil || isFailing) }

    /// Whether the daemon uses the remote, and something is wrong with it.
    public var isFailing: Bool { error != nil && (failingSince != nil || lastSync != nil) }

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
