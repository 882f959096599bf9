/// What a ``StoreWatcher`` saw at one store.
public enum StoreEvent: Sendable, Hashable {
    /// Something may have been committed: look. Never missing after a commit; now and then there is nothing new.
    case committed
    /// The path names another file than before: connections still read the old one.
    case replaced
    /// The path names no file any more.
    case removed
    /// The -wal appeared or vanished: somebody switched the journal mode. Hand over the new wal-index with
    /// ``StoreWatcher/setIndex(_:of:)``.
    case journalModeChanged
}
