import CLinux
import CSQLite
import GRDB
import SyncValues

/// Opens database files: the one place that configures a connection.
///
/// No file is created and no journal mode is changed. The user's own triggers may depend on the old
/// quoting rules, so that double-quoted string literals are accepted.
package enum DatabaseOpener {
    /// The page cache of a connection. Small: a daemon holds a thousand connections.
    package static let cacheKibibytes = 256
    /// How long a statement waits for another writer. The digest does not wait at all.
    package static let busyTimeout = Duration.seconds(5)

    /// Statement journals up to this size stay in memory: with triggers, one that spills makes
    /// every later statement of a large transaction write to a file (SQLITE_CONFIG_STMTJRNL_SPILL).
    ///
    /// Not more: SQLite writes what it spills as one piece, its Unix layer writes at most 131,071
    /// bytes of a piece, and stops with "database or disk is full" at what is left.
    package static let statementJournalBytes: Int32 = 131_000

    /// Has an effect only before the process opens its first connection; harmless afterwards.
    private static let configureSQLite: Void = {
        _ = syncd_sqlite_set_statement_journal_spill(statementJournalBytes)
    }()

    /// For a program that is its own: SQLite does not count its memory, which a lock for each piece
    /// makes slow. Not for libraries, whose programs may ask for it. Has an effect only before the
    /// process opens its first connection.
    package static func countNoMemory() { _ = syncd_sqlite_set_memory_statistics(0) }

    /// For a process that opens databases of other users: from now on SQLite opens nothing but
    /// files and folders, also beside a database. A pipe there would have it wait without end.
    package static func refuseSpecialFiles() {
        _ = configureSQLite
        _ = syncd_sqlite_open_files_alone()
    }

    /// For a process that opens databases which other users can write: from now on no file is
    /// deleted because a journal names it. SQLite rolls back a transaction over several databases
    /// by the super-journal that its journal names, then deletes that file: a journal that was
    /// written on purpose may name any one. Nothing in this process may commit to several databases
    /// at once from then on.
    package static func leaveSuperJournals() {
        _ = configureSQLite
        _ = syncd_sqlite_leave_super_journals()
    }

    /// For a process that opens databases of other users: from now on it survives that one of them
    /// truncates a `-shm` file, which SQLite and ``WalIndex`` map into memory. The connection then
    /// sees zeros and is of no use: the store has to be opened again.
    package static func surviveTruncation() {
        _ = configureSQLite
        if syncd_sqlite_guard_mappings() == SQLITE_OK { _ = syncd_survive_truncation() }
    }

    /// How many pages were found truncated since the process began.
    package static var truncatedPages: UInt64 { syncd_truncated_pages() }

    /// For a process that must not be kept busy by another user's database: from now on, on new
    /// connections to such a file, a statement that runs for longer than this without a row is
    /// ended (`refused`). A statement of ours takes milliseconds, a large table seconds.
    package static func limitForeignStatements(to limit: Duration) {
        ForeignFile.limitStatements(to: limit)
    }

    /// For a process that serves the databases of one user: from now on a file of another one is
    /// not opened (`busy`): nothing of it is read. What is in a path changes at any time.
    package static func openFiles(ofOwner owner: UInt32) { ForeignFile.require(owner: owner) }

    /// What the connection is for.
    package enum Purpose: Sendable {
        /// Reads only, from tables alone; a write is an error.
        case reading
        /// Reads and writes. A file that cannot be written is opened for reading.
        case readingAndWriting
        /// As `readingAndWriting`, but tables alone, without views and triggers: those of syncd
        /// need none. Keeps up with other writers: see ``DatabaseOpener/relieve``. Leaves the WAL
        /// when it is closed, unless a ``SideFilesGuard`` says otherwise.
        case following
        /// As `readingAndWriting`, and leaves the WAL as `following` does.
        case merging
        /// Writes; a file that cannot be written, or whose writers would be locked out, is refused.
        case writing

        fileprivate var leavesWal: Bool {
            switch self {
            case .following, .merging: true
            case .reading, .readingAndWriting, .writing: false
            }
        }

        /// Whether neither views nor triggers are used. The owner of a database can put either in
        /// the place of a table of syncd, or on one.
        fileprivate var usesTablesAlone: Bool {
            switch self {
            case .reading, .following: true
            case .readingAndWriting, .merging, .writing: false
            }
        }
    }

    /// Which file has to be at the path.
    package enum Expectation: Sendable {
        /// Any; symbolic links are followed.
        case any
        /// One without a symbolic link on the way: the links of the path were resolved before.
        case unlinked
        /// This one.
        case file(FileIdentity)
    }

    /// Refuses a path that the system would cut: it would name another file.
    ///
    /// - Throws: `invalidArgument`
    package static func refuseNUL(in path: String) throws {
        guard path.utf8.contains(0) else { return }
        throw SyncError(
            .invalidArgument, "the path has a NUL character, which no path can have",
            hint: "Give the path of the database file")
    }

    /// Opens an existing database.
    ///
    /// SQLite opens by path, so the file is compared afterwards, before anything of it is read: by
    /// the descriptor that SQLite has, not by the path, which may name another file by then.
    ///
    /// - Parameter foreignKeys: enforced. Not for the digest, whose own writes must neither cascade
    ///   nor fail.
    /// - Throws: `noSuchFile`, `notADatabase`, `corrupt`, `notAllowed`, `busy`; `readOnly` for
    ///   `writing`; `storeReplaced` when it is not the expected file. All have the path.
    package static func open(
        _ path: String, for purpose: Purpose = .readingAndWriting, foreignKeys: Bool = false,
        expecting expectation: Expectation = .any
    ) throws -> DatabaseQueue {
        _ = configureSQLite
        do {
            try refuseNUL(in: path)
            if case .writing = purpose {
                try FileAccessCheck.requireWritable(path)
            } else {
                try FileAccessCheck.requireReadable(path)
            }
            if case .unlinked = expectation { try requireUnlinked(path) }
            var configuration = Configuration()
            if case .reading = purpose { configuration.readonly = true }
            configuration.busyMode = .timeout(busyTimeout / .seconds(1))
            configuration.label = "syncd"
            // History is read and written by hand-made transactions across statements.
            configuration.allowsUnsafeTransactions = true
            configuration.foreignKeysEnabled = foreignKeys
            // Programs may have triggers with such texts. A query of our own names columns alone:
            // one that was renamed meanwhile must not be taken for the text of its name.
            configuration.acceptsDoubleQuotedStringLiterals = !configuration.readonly
            configuration.prepareDatabase { database in
                try require(expectation, of: database, at: path)
                try ForeignFile.requireOwner(of: database.sqliteConnection)
                try confine(database, for: purpose)
                try database.execute(sql: "PRAGMA cache_size = -\(cacheKibibytes)")
                if case .following = purpose { try relieve(database) }
            }
            return try DatabaseQueue(path: path, configuration: configuration)
        } catch {
            guard var known = SyncError(wrapping: error) else { throw error }
            known.path = known.path ?? path
            throw known
        }
    }

    /// Runs `body` while no statement of a connection that was opened here waits for a lock: a
    /// commit that waits for readers keeps new ones out meanwhile.
    ///
    /// - Throws: what `body` throws, `busy` among it.
    package static func withoutWaiting<Result>(
        on connection: OpaquePointer, _ body: () throws -> Result
    ) rethrows -> Result {
        sqlite3_busy_timeout(connection, 0)
        defer { sqlite3_busy_timeout(connection, Int32(busyTimeout / .milliseconds(1))) }
        return try body()
    }

    private static func requireUnlinked(_ path: String) throws {
        guard FileIdentity(unlinkedPath: path) == nil else { return }
        throw SyncError(
            .notAllowed, "the path now contains a symbolic link", path: path,
            hint: "Track the file by its own path: realpath DB")
    }

    private static func require(
        _ expectation: Expectation, of database: Database, at path: String
    ) throws {
        let opened = database.sqliteConnection.flatMap { FileIdentity(openedBy: $0) }
        let isExpected =
            switch expectation {
            case .any: true
            case .unlinked: opened != nil && opened == FileIdentity(unlinkedPath: path)
            case .file(let identity): opened == identity
            }
        guard isExpected else {
            throw SyncError(
                .storeReplaced, "the file was replaced by another one", path: path,
                hint: "Try again")
        }
        if let opened, let connection = database.sqliteConnection,
            OpenFile.isOther(than: opened, openedBy: connection)
        {
            throw SyncError(
                .storeReplaced, "the file was replaced while this process has the former one open",
                path: path, hint: "Close the former store, then try again")
        }
        if let connection = database.sqliteConnection,
            SideFiles.areForsaken(ofDatabaseOpenedBy: connection)
        {
            // It has read nothing, so that closing it removes nothing.
            throw SideFiles.forsaken(path)
        }
    }

    private static func confine(_ database: Database, for purpose: Purpose) throws {
        guard let connection = database.sqliteConnection else { return }
        try ForeignFile.confine(connection)
        if purpose.leavesWal { SideFiles.hold(connection) }
        guard purpose.usesTablesAlone else { return }
        let status = syncd_sqlite_use_tables_alone(connection)
        guard status == SQLITE_OK else { throw SyncError.sqlite(on: connection, status: status) }
    }

    /// Frames in the WAL from which a following connection checkpoints; writers do from 1,000 on.
    private static let checkpointFrames = 8_000

    /// In WAL mode a following connection leaves waiting for the disk to the writers: a digest that
    /// a power failure undoes is repeated, and commits must not pass unseen while the disk is slow.
    /// The rollback modes need every sync for the file to stay whole.
    private static func relieve(_ database: Database) throws {
        let mode = try String.fetchOne(database, sql: "PRAGMA journal_mode")
        guard mode == "wal" else { return }
        try database.execute(sql: "PRAGMA synchronous = NORMAL")
        try database.execute(sql: "PRAGMA wal_autocheckpoint = \(checkpointFrames)")
    }
}
