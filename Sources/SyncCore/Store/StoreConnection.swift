import CSQLite
import GRDB
import SyncStorage
import SyncValues

#if canImport(Glibc)
    import Glibc
#endif

/// Opening a database file as a good neighbour, and errors that say which file and what next.
package enum StoreConnection {
    /// A store's connections cache little: a daemon holds a thousand of them.
    package static let cacheKibibytes = 256
    /// How long a command waits for a writer; the digest does not wait at all.
    static let busyTimeoutSeconds = 5.0

    /// Statement journals up to this size stay in memory: with triggers, one that spills makes
    /// every later statement of a large transaction write to a file (SQLITE_CONFIG_STMTJRNL_SPILL).
    ///
    /// Not more: SQLite writes what it spills as one piece, its Unix layer writes at most 131,071
    /// bytes of a piece, and stops with "database or disk is full" at what is left.
    static let statementJournalBytes: Int32 = 131_000

    /// Has an effect only before the process opens its first connection; harmless afterwards.
    static let configureSQLite: Void = {
        _ = syncd_sqlite_set_statement_journal_spill(statementJournalBytes)
    }()

    /// Which file has to be at the path.
    package enum Expectation {
        /// Any; symbolic links are followed.
        case any
        /// One without a symbolic link on the way: the links of the path were resolved before.
        case unlinked
        /// This one.
        case file(FileIdentity)
    }

    /// Opens an existing database. Never creates one and never changes its journal mode.
    ///
    /// SQLite opens by path, so the file is compared afterwards, before anything of it is read: by
    /// the descriptor that SQLite has, not by the path, which may name another file by then.
    ///
    /// - Throws: `noSuchFile`, `notAllowed`, `storeReplaced` when it is not the expected file, and
    ///   what SQLite says.
    package static func openQueue(
        _ path: String, readOnly: Bool = false, foreignKeys: Bool = false, isLive: Bool = false,
        expecting expectation: Expectation = .any
    ) throws -> DatabaseQueue {
        _ = configureSQLite
        try checkFile(path)
        if case .unlinked = expectation { try requireUnlinked(path) }
        var configuration = Configuration()
        configuration.readonly = readOnly
        configuration.busyMode = .timeout(busyTimeoutSeconds)
        configuration.label = "syncd"
        // History is read and written by hand-made transactions across statements.
        configuration.allowsUnsafeTransactions = true
        configuration.prepareDatabase { database in
            try check(database, path, expectation)
            try database.execute(sql: "PRAGMA cache_size = -\(cacheKibibytes)")
            if isLive { try relieve(database) }
        }
        // The digest's own writes must not fire cascades, nor fail for them.
        configuration.foreignKeysEnabled = foreignKeys
        // The user's own triggers may lean on the old quoting rules.
        configuration.acceptsDoubleQuotedStringLiterals = true
        return try DatabaseQueue(path: path, configuration: configuration)
    }

    private static func requireUnlinked(_ path: String) throws {
        guard FileIdentity(unlinkedPath: path) == nil else { return }
        throw SyncError(
            .notAllowed, "a symbolic link is on the way to the file now", path: path,
            hint: "Track the file that it leads to, by its own path")
    }

    private static func check(
        _ database: Database, _ path: String, _ expectation: Expectation
    ) throws {
        let expected: FileIdentity?
        switch expectation {
        case .any: return
        case .unlinked: expected = FileIdentity(unlinkedPath: path)
        case .file(let identity): expected = identity
        }
        guard let connection = database.sqliteConnection,
            let opened = FileIdentity(openedBy: connection), opened == expected
        else {
            throw SyncError(
                .storeReplaced, "another file is at the path now", path: path, hint: "Try again")
        }
    }

    /// Frames in the WAL from which the live connection checkpoints; writers do it from 1,000 on.
    private static let checkpointFrames = 8_000

    /// In WAL mode the live connection leaves waiting for the disk to the writers: a digest that a
    /// power cut takes back is made again, and commits must not pass unseen while the disk is slow.
    /// The rollback modes need every sync for the file to stay whole.
    private static func relieve(_ database: Database) throws {
        let mode = try String.fetchOne(database, sql: "PRAGMA journal_mode")
        guard mode == "wal" else { return }
        try database.execute(sql: "PRAGMA synchronous = NORMAL")
        try database.execute(sql: "PRAGMA wal_autocheckpoint = \(checkpointFrames)")
    }

    /// Says in plain words what SQLite would report as "unable to open database file".
    private static func checkFile(_ path: String) throws {
        var info = stat()
        guard stat(path, &info) == 0 else {
            switch errno {
            case ENOENT, ENOTDIR:
                throw SyncError(
                    .noSuchFile, "there is no such file", hint: "Look at the path's spelling")
            case EACCES:
                throw SyncError(
                    .notAllowed, "a folder on the way to it may not be searched",
                    hint: "Ask the owner of the folder for access")
            default:
                throw SyncError(.noSuchFile, String(cString: strerror(errno)))
            }
        }
        guard info.st_mode & S_IFMT == S_IFREG else {
            throw SyncError(
                .notADatabase, "it is not a regular file",
                hint: "Give the path of the database file")
        }
        guard access(path, R_OK) == 0 else {
            throw SyncError(
                .notAllowed, "the file may not be read by this user",
                hint: "Ask its owner for read and write permission, or run as its owner")
        }
    }

    /// Why a store that was open is none any more; nil when it is whole.
    private static func missingTables(_ path: String) -> SyncError? {
        guard let queue = try? openQueue(path, readOnly: true) else { return nil }
        defer { try? queue.close() }
        do {
            try queue.read { database in
                try StoreMeta.requireReadable(database)
                try StoreObjects(database).requireNoClash(database)
            }
            return nil
        } catch let error as SyncError {
            return error.code == .newerFormat ? nil : error
        } catch {
            return nil
        }
    }

    /// The error with file and operation, where it has none yet.
    package static func explain(_ error: any Error, path: String, operation: String) -> any Error {
        guard var error = SyncError.wrapping(error) as? SyncError else { return error }
        // A statement on a table that was dropped under an open store.
        if error.code == .refused, let cause = missingTables(path) { error = cause }
        if error.path == nil { error.path = path }
        if error.operation == nil { error.operation = operation }
        if error.code == .readOnly, error.hint == nil {
            error.hint = "The file, its folder and its -wal and -shm files have to be writable"
        }
        return error
    }
}
