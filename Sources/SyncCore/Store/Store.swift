import CSQLite
import GRDB
import SyncStorage
import SyncValues

/// A tracked database: its history, its consumers, and what is being committed to it.
///
/// Thread-safe. Every method blocks on SQLite and may be called from any thread; the daemon calls
/// ``look()`` on its watch thread and everything else elsewhere. Two connections: the *live* one
/// follows the end of the log and digests, the *reading* one, opened at the first need, serves
/// queries, so that a long query never delays a notice.
public final class Store: Sendable {
    /// What was committed since the last look.
    public struct Look: Sendable {
        /// The transactions, in order, each once.
        public package(set) var transactions: [Transaction] = []
        /// More was committed than is put together in memory: read everything after the last
        /// token from ``Store/history(_:)`` instead.
        public package(set) var tooLarge = false
        /// The database's schema is another one than at the last look.
        public package(set) var schemaChanged = false

        package init(schemaChanged: Bool) { self.schemaChanged = schemaChanged }
    }

    /// Where the file is, as it was given.
    public let path: String
    package let identity: StoreIdentity
    package let live: Confined<LiveLog>
    package let reading: ReadingConnection
    let acknowledgements = Acknowledgements()

    /// The store's name, shared by all its replicas.
    public var id: StoreID { identity.store }
    /// This copy's name.
    public var replica: ReplicaID { identity.replica }
    /// Grows when the replica's history is replaced.
    public var epoch: Int64 { identity.epoch }

    /// The file that is open. Further connections are opened on this one alone.
    package let file: FileIdentity

    private init(
        path: String, identity: StoreIdentity, file: FileIdentity, queue: DatabaseQueue
    ) {
        self.path = path
        self.identity = identity
        self.file = file
        live = Confined(queue) { try LiveLog($0, identity) }
        reading = ReadingConnection(path: path, identity: identity, file: file)
    }

    /// Opens a tracked database.
    ///
    /// - Throws: ``SyncError``: `noSuchFile`, `notADatabase`, `corrupt`, `notAllowed`,
    ///   `notTracked`, `storeDamaged`, `newerFormat`, `busy`.
    public static func open(_ path: String) throws -> Store {
        try open(path, isResolved: false)
    }

    /// - Parameter isResolved: the path had its symbolic links resolved; one that is found on it
    ///   now is not followed (`notAllowed`).
    package static func open(_ path: String, isResolved: Bool) throws -> Store {
        do {
            let queue = try StoreConnection.openQueue(
                path, isLive: true, expecting: isResolved ? .unlinked : .any)
            let (identity, file) = try queue.writeWithoutTransaction { database in
                guard let connection = database.sqliteConnection else {
                    throw SyncError(.internalFault, "the connection is closed")
                }
                try StoreMeta.requireReadable(database)
                let settings = try Settings(connection)
                guard let file = FileIdentity(openedBy: connection) else {
                    throw SyncError(.internalFault, "SQLite does not say which file it has open")
                }
                let identity = try StoreIdentity(settings)
                let mark = FileMark(file)
                guard try settings.value(.file) != .text(mark.text) else {
                    return (identity, file)
                }
                // A copy. One that cannot be written can only be read: it stays who it was.
                guard sqlite3_db_readonly(connection, "main") == 0 else { return (identity, file) }
                try renewReplica(connection, mark)
                return (try StoreIdentity(settings), file)
            }
            let store = Store(path: path, identity: identity, file: file, queue: queue)
            // Commits are told apart from the first look on: it must not wait for a caller.
            try store.live.withState { _, _ in }
            return store
        } catch {
            throw StoreConnection.explain(error, path: path, operation: "open")
        }
    }

    /// Writes what is kept in memory and closes the connections. The store is of no use afterwards.
    public func close() throws {
        try reading.close()
        try live.close()
    }

    /// Gives back what nobody has used for `limit`: the reading connection and the statements of
    /// the digest. A daemon with a thousand stores calls it now and then.
    public func rest(unusedFor limit: Duration = .seconds(10)) throws {
        try explaining("rest") {
            try reading.close(unusedFor: limit)
            try live.withState { _, live in live.rest(unusedFor: limit) }
        }
    }

    /// What was committed since the last look, in order, each transaction once. Cheap and
    /// read-only: the daemon calls it after each wake-up.
    ///
    /// - Throws: ``SyncError``: `foreignHistory` when the history went back (an older copy of the
    ///   file was put in its place), `busy` in rollback journal modes while a writer commits.
    /// - Complexity: O(new log rows), at most ``LiveLog/lookRowsMax``.
    public func look() throws -> Look {
        try explaining("look") { try live.withState { _, live in try live.look() } }
    }

    /// Takes over the ends of commits that an earlier process had found and told of, so that they
    /// stay transactions of their own although the WAL that showed them may be gone. Right after
    /// opening.
    ///
    /// - Parameters:
    ///   - boundaries: ascending, of this replica and epoch.
    ///   - keep: gets those that are found from now on, before anybody is told; must be quick.
    public func adopt(
        _ boundaries: [Boundary], keeping keep: @escaping @Sendable ([Boundary]) -> Void
    ) throws {
        try explaining("open") {
            try live.withState { _, live in try live.adopt(boundaries, keeping: keep) }
        }
    }

    /// Finds where new commits end, and tells of them with the next look. For an owner who is busy
    /// with the last one: a writer flat out goes round its WAL within some milliseconds.
    public func follow() throws {
        try explaining("look") {
            _ = try live.withState { _, live in try live.pendingBoundaries() }
        }
    }

    /// Moves committed log rows into the history tables, in short write transactions, and writes
    /// what consumers acknowledged.
    ///
    /// - Parameter budget: how long to go on, at least one slice.
    /// - Returns: whether rows are left.
    /// - Throws: ``SyncError``: `busy` when a writer holds the lock: call again later.
    public func digest(budget: Duration = .seconds(3600)) throws -> Bool {
        try explaining("digest") {
            let clock = ContinuousClock()
            let end = clock.now + budget
            return try live.withState { connection, live in
                try acknowledgements.write(to: connection)
                return try live.digest(while: { clock.now < end })
            }
        }
    }

    /// Writes what the WAL holds into the main file, as far as no reader needs the old pages, so
    /// that the main file of an idle store is whole. Waits for nobody and lets nobody wait; does
    /// nothing in the rollback journal modes.
    public func checkpoint() throws {
        try explaining("checkpoint") {
            try live.withState { connection, _ in
                // Busy means that another connection is at it already.
                _ = sqlite3_wal_checkpoint_v2(
                    connection, "main", SQLITE_CHECKPOINT_PASSIVE, nil, nil)
            }
        }
    }

    /// The wal-index, for a ``StoreWatcher``; nil in the rollback journal modes.
    public func walIndex() throws -> WalIndex? {
        try explaining("open") { try live.withState { _, live in live.walIndex } }
    }

    package func explaining<Result>(_ operation: String, _ body: () throws -> Result) throws
        -> Result
    {
        try Self.explaining(path, operation, body)
    }
}
