/// How other processes' commits reach a store.
public struct FollowState: Sendable {
    /// Who tells.
    public enum Source: Sendable, Hashable {
        /// Nobody: ask with ``StoreCoordinator/checkForExternalChanges()``.
        case none
        /// The file is watched.
        case file
        /// syncd tells each transaction; the file is watched as well, in case it stops.
        case daemon
    }

    /// Who tells.
    public var source = Source.none
    /// The database is tracked: history says what was changed, so that a commit costs what it
    /// changed. Else each commit has the held objects read again.
    public var hasHistory = false
    /// Why the last look failed; it is repeated by itself. Nil when all is well.
    public var lastError: ObjectError?
    /// How often history could not be continued (it was purged, or the file restored), so that all
    /// held objects were read again.
    public var resyncs = 0
}
