/// What a ``StoreWatcher`` saw at one store.
public enum StoreEvent: Sendable, Hashable {
    /// A transaction may have been committed. Follows every commit; sometimes there is nothing new.
    case committed
    /// The path names another file than before: connections still read the old one.
    case replaced
    /// The path names no file any more.
    case removed
    /// The -wal appeared or vanished: another process switches the journal mode. The switch may not
    /// be complete: whenever ``BoundaryReader/index`` has changed after a read, pass it to
    /// ``StoreWatcher/setIndex(_:of:)``.
    case journalModeChanged
}
