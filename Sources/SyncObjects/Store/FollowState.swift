/// How other processes' commits reach a store.
public struct FollowState: Sendable {
    /// What notifies of commits.
    public enum Source: Sendable, Hashable {
        /// Nothing: call ``StoreCoordinator/checkForExternalChanges()``.
        case none
        /// The file is watched.
        case file
        /// syncd sends each transaction; the file is watched as well, in case syncd stops.
        case daemon
    }

    /// What notifies of commits.
    public var source = Source.none
    /// The database is tracked, and history says what each commit changed. Without history, each
    /// commit makes contexts read all held objects again.
    public var hasHistory = false
    /// Why the last check of the file failed, or else why syncd refused the last subscription. Both
    /// are tried again automatically. Nil when there are no problems, and while syncd is not
    /// running: the file is then enough.
    public var lastError: ObjectError? { checkError ?? daemonError }
    /// How often history could not be continued, because it was purged or the file was restored,
    /// so that all held objects were read again.
    public var resyncs = 0

    /// Why the last check of the file failed.
    var checkError: ObjectError?
    /// Why syncd refused the last subscription.
    var daemonError: ObjectError?
}
