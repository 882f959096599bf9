import CSQLite

/// A file that a connection has open, read through SQLite's own file object.
///
/// Opening the database or its -shm a second time in this process would be wrong: closing any
/// descriptor of a file drops all POSIX locks that the process holds on it
/// (https://www.sqlite.org/howtocorrupt.html §2.2). Confined to the connection's queue.
package struct SQLiteFile {
    private let file: UnsafeMutablePointer<sqlite3_file>
    private let methods: UnsafePointer<sqlite3_io_methods>

    /// The database file of `connection`.
    package static func database(_ connection: OpaquePointer) -> SQLiteFile? {
        SQLiteFile(connection, control: SQLITE_FCNTL_FILE_POINTER)
    }

    /// Its WAL, or its rollback journal; nil while neither is open.
    package static func journal(_ connection: OpaquePointer) -> SQLiteFile? {
        SQLiteFile(connection, control: SQLITE_FCNTL_JOURNAL_POINTER)
    }

    /// The path of the database file of `connection`, absolute, with symbolic links resolved.
    package static func path(of connection: OpaquePointer) -> String {
        sqlite3_db_filename(connection, "main").map { String(cString: $0) } ?? ""
    }

    private init?(_ connection: OpaquePointer, control operation: Int32) {
        var file: UnsafeMutablePointer<sqlite3_file>?
        guard sqlite3_file_control(connection, "main", operation, &file) == SQLITE_OK,
            let file, let methods = file.pointee.pMethods
        else { return nil }
        self.file = file
        self.methods = methods
    }

    /// Fills `buffer` from `offset` on; false when the file ends before.
    package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> Bool {
        methods.pointee.xRead(file, buffer.baseAddress, Int32(buffer.count), offset) == SQLITE_OK
    }

    /// Fills `buffer` from `offset` on, with zeros where the file has ended; false on an error.
    package func readAvailable(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> Bool
    {
        let status = methods.pointee.xRead(
            file, buffer.baseAddress, Int32(buffer.count), offset)
        return status == SQLITE_OK || status == SQLITE_IOERR | 2 << 8  // SQLITE_IOERR_SHORT_READ
    }

    /// The first bytes of the wal-index; nil when there is none. Only for a connection that has
    /// read in WAL mode: on any other it would make a -shm file.
    package func mapWalIndex() -> UnsafeMutableRawPointer? {
        guard methods.pointee.iVersion >= 2, let map = methods.pointee.xShmMap else { return nil }
        var region: UnsafeMutableRawPointer?
        // One that may only be read is mapped, too, and says so: `region` is set then.
        let result = map(file, 0, 32_768, 0, &region)
        return result == SQLITE_OK || result == SQLITE_READONLY ? region : nil
    }
}
