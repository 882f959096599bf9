import SyncStorage
import SyncValues

/// What a ``StoreWatcher`` saw at one store.
public enum StoreEvent: Sendable, Hashable {
    /// Something may have been committed: look. Never missing after a commit; now and then there is
    /// nothing new.
    case committed
    /// The path names another file than before: connections still read the old one.
    case replaced
    /// The path names no file any more.
    case removed
    /// The -wal appeared or vanished: somebody switches the journal mode. The switch may not be
    /// done yet: after any look that finds ``BoundaryReader/index`` changed, hand it over with
    /// ``StoreWatcher/setIndex(_:of:)``.
    case journalModeChanged
}
