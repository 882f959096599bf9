import SyncCore

/// The last reload of the daemon's configuration failed: the one before it is in use still, and the
/// daemon would not start with the files as they were then.
public struct ReloadFailure: Sendable, Hashable {
    /// What is wrong, with file and line; nil for those who may not see the configuration.
    public let reason: String?
    /// When it was.
    public let time: Timestamp

    /// Makes a failure.
    public init(reason: String?, time: Timestamp) {
        self.reason = reason
        self.time = time
    }

    /// The failure as those may see it who may not see the configuration.
    public var withoutReason: ReloadFailure { ReloadFailure(reason: nil, time: time) }
}
