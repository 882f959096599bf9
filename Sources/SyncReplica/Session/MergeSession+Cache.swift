import CLinux
import CSQLite
import SyncStorage

/// The page cache of a merge connection.
///
/// A transaction of any size takes as much memory as its cache: what does not fit is written before
/// the commit, in WAL mode to the WAL, in the rollback journal modes to the database. There that
/// keeps out readers until the commit, like any large transaction of SQLite, and two things follow:
/// - Another connection of this process cannot be asked meanwhile: where commits end in the log
///   is asked before anything is written.
/// - While other programs read, what does not fit stays in memory: nothing waits for them before
///   the commit.
extension MergeSession {
    /// Rows and identities ascend, but what refers to rows, and the identities of rows from earlier
    /// versions, do not: a few thousand pages are written repeatedly.
    private static let wideKibibytes = 16_384

    /// Runs `body` with the cache that a large transaction needs, and releases its memory.
    /// - Throws: what `body` throws; SQLite errors.
    func withWideCache<Result>(_ body: () throws -> Result) throws -> Result {
        guard !isCacheWide else { return try body() }
        try setCache(kibibytes: Self.wideKibibytes)
        isCacheWide = true
        defer {
            isCacheWide = false
            let isLarge = cachedBytes > Self.trimmedBytesMin
            try? setCache(kibibytes: DatabaseOpener.cacheKibibytes)
            sqlite3_db_release_memory(connection)
            // The pages were blocks among others: what follows would take new memory beside them.
            if isLarge { syncd_trim_memory() }
        }
        return try body()
    }

    /// Less than that is not worth the milliseconds that it takes to return it to the system.
    private static let trimmedBytesMin = 8 << 20

    private var cachedBytes: Int {
        var (bytes, highest): (Int32, Int32) = (0, 0)
        sqlite3_db_status(connection, SQLITE_DBSTATUS_CACHE_USED, &bytes, &highest, 0)
        return Int(bytes)
    }

    private func setCache(kibibytes: Int) throws {
        try RawTransaction.execute("PRAGMA cache_size = -\(kibibytes)", on: connection)
    }
}
