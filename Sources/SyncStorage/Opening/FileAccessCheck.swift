import CSQLite
import Glibc
import SyncValues

/// What is checked of a database file before it is opened: SQLite would report most of it as
/// "unable to open database file".
enum FileAccessCheck {
    /// - Throws: `noSuchFile`, `notADatabase` (also for a pipe beside it), `notAllowed`.
    static func requireReadable(_ path: String) throws {
        guard let file = FilePermissions(path: path) else {
            switch errno {
            case ENOENT, ENOTDIR:
                throw SyncError(
                    .noSuchFile, "no such file", path: path,
                    hint: "Check the path: ls -l \(PathResolution.directory(of: path))")
            case EACCES:
                throw SyncError(
                    .notAllowed, "permission denied on a parent directory", path: path,
                    hint: "Check the directories of the path: namei -l DB")
            case ENAMETOOLONG:
                throw SyncError(
                    .noSuchFile, "the path is too long for a file", path: path,
                    hint: "Give the path of the database file")
            default:
                throw SyncError(
                    .noSuchFile, String(cString: strerror(errno)), path: path,
                    hint: "Check the directories of the path: namei -l DB")
            }
        }
        guard file.isRegularFile else {
            throw SyncError(
                .notADatabase, "not a regular file", path: path,
                hint: "Give the path of the database file")
        }
        guard access(path, R_OK) == 0 else {
            throw SyncError(
                .notAllowed, "permission to read the file is denied for user id \(geteuid())",
                path: path, hint: "Ask its owner, who is shown by: ls -l DB")
        }
        try requireRegularCompanions(of: path)
    }

    /// What SQLite opens beside the database is a file, too, or missing: it would wait without end
    /// for the other end of a pipe. One that comes later is refused when it is opened
    /// (``DatabaseOpener/refuseSpecialFiles()``).
    private static func requireRegularCompanions(of path: String) throws {
        for ending in ["-journal", "-wal", "-shm"] {
            var status = stat()
            guard lstat(path + ending, &status) == 0, status.st_mode & S_IFMT != S_IFREG else {
                continue
            }
            throw SyncError(
                .notADatabase, "the file \(ending) beside the database is not a regular file",
                path: path, hint: "Remove it: rm \(Shell.quoted(path + ending))")
        }
    }

    /// Besides ``requireReadable(_:)``: this process can write, and does not lock anyone out.
    ///
    /// A writer of the database before the call must be able to write it afterwards. In WAL mode
    /// SQLite makes `-wal` and `-shm` with the mode of the database file and the user and group of
    /// this process; as root it gives them to the owner of the file. When these files would lock
    /// out a writer, the database is not opened at all.
    ///
    /// - Throws: `readOnly`, `notAllowed`; as ``requireReadable(_:)``.
    static func requireWritable(_ path: String) throws {
        try requireReadable(path)
        let folder = PathResolution.directory(of: path)
        guard access(path, W_OK) == 0 else {
            throw notWritable("the file", path: path, name: "DB", rights: "rw")
        }
        guard access(folder, W_OK) == 0, let directory = FilePermissions(path: folder) else {
            throw notWritable(
                "the folder, where SQLite creates the -wal and -shm files", path: path,
                name: Shell.quoted(folder), rights: "rwx")
        }
        guard let file = FilePermissions(path: path), try isWAL(path) else { return }
        let reason = FilePermissions.lockout(
            database: file, directory: directory, user: geteuid(), group: getegid(),
            ownerIsIn: { FilePermissions.isMember(user: file.owner, of: $0) })
        if let reason {
            throw SyncError(
                .notAllowed, reason, path: path,
                hint: "Run as the file's owner or as root, or give the folder its group: "
                    + "chgrp and chmod g+s \(folder), chmod g+rw DB")
        }
    }

    /// Which of the two causes keeps this process from writing, as `errno` says, and the remedy for
    /// it.
    private static func notWritable(
        _ what: String, path: String, name: String, rights: String
    ) -> SyncError {
        if errno == EROFS {
            return SyncError(
                .readOnly, "\(what) is on a file system that is read-only for this process",
                path: path,
                hint: "For the system's daemon: systemctl edit syncd, add [Service] "
                    + "ReadWritePaths=\(PathResolution.directory(of: path)), then: systemctl "
                    + "restart syncd")
        }
        let user = geteuid()
        let isOwner = FilePermissions(path: path)?.owner == user
        return SyncError(
            .readOnly, "user id \(user) has no write permission on \(what)", path: path,
            hint: isOwner
                ? "Run: chmod u+w \(name)"
                : "Run as its owner, or let the user in: setfacl -m u:\(user):\(rights) \(name)")
    }

    /// The header says that readers need a `-wal` (byte 19, "read version", is 2).
    ///
    /// Read through a connection that never reads more, so that it makes no `-wal` or `-shm`: a
    /// descriptor of our own would drop the locks of this process's other connections when closed
    /// (https://www.sqlite.org/howtocorrupt.html §2.2).
    private static func isWAL(_ path: String) throws -> Bool {
        var connection: OpaquePointer?
        let status = sqlite3_open_v2(path, &connection, SQLITE_OPEN_READWRITE, nil)
        defer { sqlite3_close_v2(connection) }
        guard status == SQLITE_OK, let connection else {
            throw SyncError.sqlite(on: connection, status: status)
        }
        var header = [UInt8](repeating: 0, count: 20)
        let isRead = header.withUnsafeMutableBytes {
            SQLiteFile.database(connection)?.read(into: $0, at: 0) ?? false
        }
        return isRead && header[19] == 2
    }
}
