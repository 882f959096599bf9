import CSQLite
import GRDB
import SyncStorage
import SyncValues
import Synchronization

/// A tracked database: its history, its consumers, and what is being committed to it.
///
/// Thread-safe. Every method blocks on SQLite and may be called from any thread; the daemon calls
/// ``poll()`` on its watch thread and everything else elsewhere. Two connections: the *live* one
/// follows the end of the log and digests, the *reading* one, opened at the first need, serves
/// queries, so that a long query never delays a notice. While the store rests
/// (``rest(idleFor:)``) there is none.
public final class Store: Sendable {
    /// Where the file is, as it was given.
    public let path: String
    package let identity: StoreIdentity
    package let live: LiveConnection
    package let reading: ReadingConnection
    let acknowledgements = Acknowledgements()
    let lastUnsettled = Mutex<UnsettledRows?>(nil)
    let lastLook = Mutex(CaptureLook())

    /// The identifier of the store, shared by all its replicas.
    public var id: StoreID { identity.store }
    /// The identifier of this replica.
    public var replica: ReplicaID { identity.replica }
    /// Grows when the replica's history is replaced.
    public var epoch: Int64 { identity.epoch }

    /// The open file. Further connections are opened on this file only.
    package let file: FileIdentity
    private let mark: OpenFile
    /// See ``mendCapture()``.
    let isMending: Bool

    private init(
        path: String, identity: StoreIdentity, file: FileIdentity, mark: OpenFile,
        isMending: Bool, queue: DatabaseQueue, guardedBy sideFiles: SideFilesGuard
    ) {
        self.isMending = isMending
        self.path = path
        self.identity = identity
        self.file = file
        self.mark = mark
        live = LiveConnection(
            path: path, identity: identity, file: file, queue: queue, guardedBy: sideFiles)
        reading = ReadingConnection(path: path, identity: identity, file: file)
    }

    /// Opens a tracked database.
    ///
    /// - Throws: ``SyncError``: `noSuchFile`, `notADatabase`, `corrupt`, `notAllowed`,
    ///   `notTracked`, `storeDamaged`, `newerFormat`, `busy`.
    public static func open(_ path: String) throws -> Store {
        try open(path, isResolved: false)
    }

    /// A store whose readers were told of transactions that the file does not have becomes another
    /// replica in the next epoch: a power failure took them back, or an older copy replaced it.
    ///
    /// - Parameters:
    ///   - isResolved: the path had its symbolic links resolved; one that is found on it now is not
    ///     followed (`notAllowed`).
    ///   - directory: where this process has its journals (``BoundaryJournal``); nil: nowhere.
    ///   - isMending: queries repair the triggers first: see ``unrecorded``.
    /// - Throws: as ``open(_:)``; `notAllowed` for a symbolic link.
    package static func open(
        _ path: String, isResolved: Bool, journalsIn directory: String? = nil,
        isMending: Bool = true
    ) throws -> Store {
        do {
            let sideFiles = SideFilesGuard(beforeOpening: path)
            let queue = try DatabaseOpener.open(
                path, for: .following, expecting: isResolved ? .unlinked : .any)
            try endAbandonedMigration(queue)
            let (identity, file, mark) = try queue.writeWithoutTransaction { database in
                guard let connection = database.sqliteConnection else {
                    throw SyncError(.internalFault, "the connection is closed")
                }
                guard let file = FileIdentity(openedBy: connection) else {
                    throw SyncError(.internalFault, "SQLite does not say which file it has open")
                }
                let mark = OpenFile(file, openedBy: connection)
                try StoreDamage.requireReadable(database)
                let metadata = Metadata(connection)
                let identity = try StoreIdentity(metadata)
                // One that cannot be written keeps its identity: it is only read.
                guard sqlite3_db_readonly(connection, "main") == 0 else {
                    return (identity, file, mark)
                }
                if try metadata.value(.file) != .text(file.mark) {
                    // A copy.
                    try renewReplica(connection, mark: file.mark)
                } else if try NamedJournals.tellMore(
                    than: connection, identity: identity, orIn: directory)
                {
                    try renewReplica(connection, replacing: identity, toldIn: directory)
                }
                return (try StoreIdentity(metadata), file, mark)
            }
            let store = Store(
                path: path, identity: identity, file: file, mark: mark, isMending: isMending,
                queue: queue, guardedBy: sideFiles)
            // Commits are distinguished from the first read on: it must not wait for a caller.
            try store.live.withState { _, _ in }
            return store
        } catch {
            throw explained(error, path: path, operation: "open")
        }
    }

    /// Closes the connections. The store cannot be used afterwards.
    ///
    /// - Throws: ``SyncError`` when a connection cannot be closed.
    public func close() throws {
        guard FileIdentity(path: path) == file else {
            _ = try closeMoved()
            return
        }
        try reading.close()
        try live.close()
        mark.close()
    }

    /// As ``close()``, for a file that was moved or removed: SQLite leaves its WAL where it is, and
    /// the file that has its name now would be read, and written, with the pages of the other one.
    ///
    /// - Returns: false when the WAL could not be emptied, because another connection is at work.
    /// - Throws: ``SyncError`` when a connection cannot be closed.
    package func closeMoved() throws -> Bool {
        try reading.close()
        var isEmpty = true
        try live.close { isEmpty = Self.emptyWal($0) }
        mark.close()
        return isEmpty
    }

    /// Whether this process has another store open on the same file.
    package var isOpenElsewhere: Bool { mark.hasOthers }

    /// Closes the reading connection and releases the statements of the digest when they were not
    /// used for `limit`. They are made again when needed. A daemon with a thousand stores calls it
    /// periodically.
    ///
    /// - Throws: ``SyncError`` when the connection cannot be closed.
    public func unload(idleFor limit: Duration = .seconds(10)) throws {
        try explaining("unload") {
            try reading.close(idleFor: limit)
            try live.withOpenState { _, live in live.unload(idleFor: limit) }
        }
    }

    /// The transactions committed since the last call, in order, each once.
    ///
    /// Without a journal (``record(in:)``, which the daemon uses) they are first moved to the
    /// history tables, in short write transactions, unless the daemon has recorded them: what is
    /// told once keeps its number and its contents for every reader. What cannot be moved now is in
    /// ``PollResult/unsettled`` and comes later.
    ///
    /// - Parameter isRepeated: the caller comes again after `busy`: in the rollback journal modes
    ///   no lock is taken or waited for while a writer is at work, for half a second.
    /// - Throws: ``SyncError``: `foreignHistory` when the history went back (an older copy of the
    ///   file was put in its place), `busy` in rollback journal modes while a writer commits.
    /// - Complexity: O(new log rows), at most ``LiveLog/pollRowsMax``.
    public func poll(isRepeated: Bool = false) throws -> PollResult {
        try explaining("poll") {
            let result = try live.withState { _, live in try live.poll(isRepeated: isRepeated) }
            lastUnsettled.withLock { $0 = result.unsettled }
            return result
        }
    }

    /// Finds the boundaries of new transactions; the next ``poll()`` returns the transactions. To
    /// be called while the result of the last one is processed: a writer without pauses wraps its
    /// WAL within some milliseconds.
    ///
    /// - Throws: as ``poll()``.
    public func findNewBoundaries() throws {
        try explaining("poll") {
            _ = try live.withState { _, live in try live.pendingBoundaries(isRepeated: true) }
        }
    }

    /// Whether the -wal and -shm were taken away while the store was open, as by a restore by hand:
    /// nothing more is seen of other programs. Close the store, and open it again.
    package var isForsaken: Bool { live.isForsaken }

    /// Before a write, or a checkpoint, which would write old pages over what others commit. A file
    /// that was moved away is its own: nobody else has its name for it.
    private func requireSideFiles() throws {
        if live.isForsaken, FileIdentity(path: path) == file { throw SideFiles.forsaken(path) }
    }

    /// Moves committed log rows into the history tables, in short write transactions, and writes
    /// what consumers acknowledged.
    ///
    /// - Parameters:
    ///   - budget: how long to go on, at least one slice.
    ///   - isRepeated: the caller comes again after `busy`: a lock that is not free is not waited
    ///     for. Waiting for it would keep other readers out in the rollback modes, and ``poll()``.
    /// - Returns: whether rows are left.
    /// - Throws: ``SyncError``: `busy` when a writer holds the lock: call again later.
    public func digest(
        budget: Duration = .seconds(3600), isRepeated: Bool = false
    ) throws -> Bool {
        try explaining("digest") {
            let clock = ContinuousClock()
            let end = clock.now + budget
            if live.isResting, acknowledgements.isEmpty { return false }
            try requireSideFiles()
            return try live.withState { connection, live in
                let work = {
                    try self.acknowledgements.write(to: connection)
                    return try live.digest(while: { clock.now < end })
                }
                return try isRepeated ? DatabaseOpener.withoutWaiting(on: connection, work) : work()
            }
        }
    }

    /// Copies the WAL to the main file, as far as no reader needs the old pages, so that the main
    /// file of an idle store is complete. Neither waits nor blocks others; does nothing in the
    /// rollback journal modes.
    ///
    /// - Throws: ``SyncError`` when the connection is closed.
    public func checkpoint() throws {
        try explaining("checkpoint") {
            try requireSideFiles()
            try live.withState { connection, _ in
                // Busy means that another connection runs a checkpoint already.
                _ = sqlite3_wal_checkpoint_v2(
                    connection, "main", SQLITE_CHECKPOINT_PASSIVE, nil, nil)
            }
        }
    }

    /// Copies the WAL to the main file and, when no other connection is reading or writing, leaves
    /// a -wal without a byte: an administrator can then put another file in the place of the main
    /// file. Waits for no lock; holds the write lock only for the moment in which nothing is left
    /// to copy. Does nothing in the rollback journal modes, and while the store rests.
    ///
    /// - Returns: false when another connection is reading or writing: the next quiet moment will
    ///   do.
    /// - Throws: ``SyncError`` when the connection is closed.
    @discardableResult
    package func emptyWal() throws -> Bool {
        try explaining("checkpoint") {
            try requireSideFiles()
            var isEmpty = true
            try live.withOpenState { connection, _ in isEmpty = Self.emptyWal(connection) }
            return isEmpty
        }
    }

    private static func emptyWal(_ connection: OpaquePointer) -> Bool {
        DatabaseOpener.withoutWaiting(on: connection) {
            _ = sqlite3_wal_checkpoint_v2(
                connection, "main", SQLITE_CHECKPOINT_PASSIVE, nil, nil)
            return sqlite3_wal_checkpoint_v2(
                connection, "main", SQLITE_CHECKPOINT_TRUNCATE, nil, nil) == SQLITE_OK
        }
    }

    /// The wal-index, for a ``StoreWatcher``; nil in the rollback journal modes.
    ///
    /// - Throws: ``SyncError`` when the connection is closed.
    public func walIndex() throws -> WalIndex? {
        try explaining("open") { try live.withState { _, live in live.walIndex } }
    }
}
