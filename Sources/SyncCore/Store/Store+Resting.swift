import SyncStorage
import SyncValues

/// A store that is not in use has no connection: nothing keeps another process from changing the
/// journal mode, and a daemon with a thousand stores has memory for those in use.
extension Store {
    /// Whether no connection follows the log. The first call that needs one opens it.
    package var isResting: Bool { live.isResting }

    /// Whether ``rest(idleFor:)`` has a chance: cheap enough to be asked every second.
    package func mayRest(idleFor limit: Duration) -> Bool { live.isIdle(for: limit) }

    /// Keeps the WAL of a resting store until its connection is open: the program that is
    /// committing may be the last one to close the database. Neither waits nor reads the schema.
    package func pinWal() -> WalPin? { WalPin(path, expecting: file) }

    /// Whether the WAL has no frame; nil in the rollback modes, and while the store rests.
    ///
    /// - Throws: ``SyncError`` when the connection is closed.
    package func isWalEmpty() throws -> Bool? {
        var isEmpty: Bool?
        try live.withOpenState { _, live in
            isEmpty = live.walIndex.map { $0.header()?.frameCount == 0 }
        }
        return isEmpty
    }

    /// Closes both connections of a store in WAL mode that was not used for `limit` and has no
    /// frame in its WAL (``emptyWal()``). Transactions that ``poll()`` did not return yet are
    /// returned by the first call after the rest, in the same order and with the same numbers.
    ///
    /// A commit meanwhile raises an event of the -wal or of the database: watch both before the
    /// call (``StoreWatcher/rest(_:)``), but after ``emptyWal()``, which raises one, too.
    ///
    /// - Returns: false when the store is in use, a commit is not in the history tables yet,
    ///   another connection is reading or writing, or the store is in a rollback mode, where an
    ///   open connection holds no lock.
    /// - Throws: ``SyncError`` when the store cannot be read.
    package func rest(idleFor limit: Duration) throws -> Bool {
        try explaining("rest") {
            try reading.close(idleFor: limit)
            guard !reading.isOpen, acknowledgements.isEmpty else { return false }
            return try live.rest(idleFor: limit)
        }
    }
}
