import CSQLite
import GRDB
import Glibc
import SyncValues

extension SyncError {
    /// The error that `connection` reports for `status`.
    package static func sqlite(
        on connection: OpaquePointer?, status: Int32, sql: String? = nil
    ) -> Self {
        let extended = connection.map { sqlite3_extended_errcode($0) } ?? status
        let message = connection.flatMap { sqlite3_errmsg($0) }.map { String(cString: $0) }
        // SQLite says that a file cannot be opened where there is no room for it.
        let isFull =
            connection.map { [ENOSPC, EDQUOT].contains(sqlite3_system_errno($0)) } ?? false
        let isFileError = [SQLITE_CANTOPEN, SQLITE_IOERR].contains(status & 0xff)
        return sqlite(
            status: isFull && isFileError ? SQLITE_FULL : status, extended: extended,
            message: message ?? "SQLite error \(status)",
            sql: sql)
    }

    /// The error itself, or the one for what GRDB threw; nil for an error of another kind.
    package init?(wrapping error: any Error) {
        if let error = error as? SyncError {
            self = error
        } else if let error = error as? DatabaseError {
            self = Self.sqlite(
                status: error.resultCode.rawValue, extended: error.extendedResultCode.rawValue,
                message: error.message ?? error.resultCode.description, sql: error.sql)
        } else {
            return nil
        }
    }

    private static func sqlite(
        status: Int32, extended: Int32, message: String, sql: String?
    ) -> Self {
        let reason = sql.map { "\(message) in \($0.prefix(200))" } ?? message
        // A -shm that cannot grow.
        let isFull = extended == SQLITE_IOERR | 19 << 8  // SQLITE_IOERR_SHMSIZE
        switch isFull ? SQLITE_FULL : status & 0xff {
        case SQLITE_BUSY, SQLITE_LOCKED:
            return SyncError(
                .busy, "another connection holds the lock of the database",
                hint: "Try again in a moment; to find the process: fuser -v DB")
        case SQLITE_NOTADB:
            return SyncError(
                .notADatabase, "the file is not an SQLite database, or it is encrypted",
                hint: "Give the path of an unencrypted SQLite 3 database")
        case SQLITE_CORRUPT:
            return SyncError(
                .corrupt, "the database is damaged: \(message)",
                hint: "Restore a backup, or try: sqlite3 DB .recover")
        case SQLITE_FULL:
            return SyncError(.diskFull, "no space left on the device", hint: "Free some space")
        case SQLITE_CANTOPEN where ProcessLimit.hasNoDescriptor:
            return SyncError(
                .ioError, "too many open files: \(message)",
                hint: "Raise the limit: ulimit -n, or LimitNOFILE= of the service")
        case SQLITE_READONLY, SQLITE_CANTOPEN, SQLITE_PERM:
            return SyncError(.readOnly, message)
        case SQLITE_IOERR:
            return SyncError(
                .ioError, "input/output error \(extended): \(message)",
                hint: "Check the device and its file system"
                    + (ProcessLimit.fileBytes.map {
                        "; this process may write no file beyond \($0) bytes (ulimit -f)"
                    } ?? ""))
        case SQLITE_INTERRUPT:
            return SyncError(
                .refused, "a statement did not end and was interrupted: \(reason)",
                hint: "A trigger or view of the database may not end: sqlite3 DB .schema")
        default:
            return SyncError(
                .refused, reason,
                hint: isOfApplication(message)
                    ? "Where only an application has it, drop the index, CHECK or column that "
                        + "needs it: synctool alter DB SQL"
                    : nil)
        }
    }

    /// Whether SQLite misses a function or a collation that only an application has.
    package static func isOfApplication(_ message: String) -> Bool {
        ["no such function: ", "unknown function: ", "no such collation sequence: "]
            .contains(where: message.hasPrefix)
    }
}
