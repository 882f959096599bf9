import CSQLite
import Glibc
import SyncValues
import Synchronization

/// What a connection may do with a database file that another user than this process may write.
///
/// Anything may have been written into it: a schema that runs without end or takes all memory, and
/// pages that no SQLite wrote (https://www.sqlite.org/security.html). Root is trusted.
enum ForeignFile {
    /// The longest text or blob. A batch carries less; with SQLite's own limit of a gigabyte one
    /// expression takes several.
    static let valueBytesMax: Int32 = 512 << 20

    /// How long a statement may run without a row, in nanoseconds; 0: without end.
    private static let stepMax = Atomic<Int64>(0)

    /// See ``DatabaseOpener/limitForeignStatements(to:)``.
    static func limitStatements(to limit: Duration) {
        stepMax.store(Int64(limit / .nanoseconds(1)), ordering: .relaxed)
    }

    /// The one user whose files are opened; -1: any.
    private static let servedOwner = Atomic<Int64>(-1)

    /// See ``DatabaseOpener/openFiles(ofOwner:)``.
    static func require(owner: UInt32) { servedOwner.store(Int64(owner), ordering: .relaxed) }

    /// Whether this process may open the file that a connection has opened.
    ///
    /// - Throws: `busy` for the file of another owner: another process opens it.
    static func requireOwner(of connection: OpaquePointer?) throws {
        let served = servedOwner.load(ordering: .relaxed)
        guard served >= 0 else { return }
        var status = stat()
        guard let connection, fstat(syncd_sqlite_descriptor(connection), &status) == 0,
            Int64(status.st_uid) != served
        else { return }
        throw SyncError(
            .busy,
            "the file belongs to uid \(status.st_uid) now, whose stores another process serves",
            hint: "Try again in a moment")
    }

    /// Whether the main database of a connection is one: by its open file, whatever the path names
    /// by now.
    private static func isOpened(by connection: OpaquePointer) -> Bool {
        let descriptor = syncd_sqlite_descriptor(connection)
        var status = stat()
        guard descriptor >= 0, fstat(descriptor, &status) == 0 else { return false }
        let isOfAnother = status.st_uid != geteuid() && status.st_uid != 0
        return isOfAnother || status.st_mode & 0o022 != 0
    }

    /// Confines a connection, if it has another user's file open; before anything of it is read.
    /// - Throws: the error of SQLite.
    static func confine(_ connection: OpaquePointer) throws {
        guard isOpened(by: connection) else { return }
        let status = syncd_sqlite_distrust(connection, valueBytesMax)
        guard status == SQLITE_OK else { throw SyncError.sqlite(on: connection, status: status) }
        try RawTransaction.execute("PRAGMA cell_size_check = ON", on: connection)
        let limit = stepMax.load(ordering: .relaxed)
        if limit > 0 { syncd_sqlite_limit_steps(connection, limit) }
    }
}
