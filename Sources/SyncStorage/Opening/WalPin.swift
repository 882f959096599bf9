import CSQLite

/// Keeps the WAL of a database while it lives: SQLite deletes the -wal when the last connection is
/// closed, and with it the place where one commit ends and the next begins.
///
/// A connection that has read in WAL mode and has no transaction open. It reads no schema, so that
/// it is made within a fraction of a millisecond. It holds up no reader and no writer.
///
/// `@unchecked Sendable`: the connection is used by `init` and `deinit` alone.
package final class WalPin: @unchecked Sendable {
    private let connection: OpaquePointer

    /// - Parameter file: what has to be at the path.
    /// - Returns: nil when it is not, or cannot be read at once.
    package init?(_ path: String, expecting file: FileIdentity) {
        // Opening another file, or none, would leave a -wal beside it.
        guard FileIdentity(path: path) == file else { return nil }
        var opened: OpaquePointer?
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX
        guard sqlite3_open_v2(path, &opened, flags, nil) == SQLITE_OK, let opened,
            FileIdentity(openedBy: opened) == file,
            sqlite3_exec(opened, "PRAGMA user_version", nil, nil, nil) == SQLITE_OK
        else {
            sqlite3_close_v2(opened)
            return nil
        }
        connection = opened
    }

    deinit { sqlite3_close_v2(connection) }
}
