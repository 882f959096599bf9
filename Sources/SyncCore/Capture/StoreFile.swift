import CSQLite
import Foundation
import GRDB
import SyncStorage
import SyncValues

#if canImport(Glibc)
    import Glibc
#endif

/// Opening a database file for us to write, and the refusals that come before.
///
/// A good neighbour: whoever could write the database before can write it after. In WAL mode SQLite
/// makes `-wal` and `-shm` with the mode of the database file; with our user and group, unless we
/// are root, who gives them to the owner of the file. When our copy of them would lock somebody
/// out, we do not open the file at all. The journal mode is never changed.
public enum StoreFile {
    /// How long a statement of ours waits for another writer.
    static let busyTimeoutSeconds = 5.0

    /// A connection that reads the file as its writers do: no other journal mode, foreign keys as
    /// `foreignKeys` says, and the old quoting rules that the user's own triggers may lean on.
    /// - Throws: `noSuchFile`, `notADatabase`, `corrupt`, `readOnly`, `notAllowed`, `busy`.
    public static func open(_ path: String) throws -> DatabaseQueue {
        do {
            try requireWritable(path)
            var configuration = Configuration()
            configuration.busyMode = .timeout(busyTimeoutSeconds)
            configuration.foreignKeysEnabled = false
            configuration.acceptsDoubleQuotedStringLiterals = true
            configuration.label = "syncd"
            let queue = try DatabaseQueue(path: path, configuration: configuration)
            try queue.read { db in
                _ = try Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_schema")
            }
            return queue
        } catch {
            guard var error = SyncError.wrapping(error) as? SyncError else { throw error }
            error.path = error.path ?? path
            throw error
        }
    }

    /// Who and what a file is, as far as writing it goes.
    struct Permissions: Equatable {
        var owner: UInt32
        var group: UInt32
        var mode: UInt32
    }

    /// The files that we would make beside a database, judged for those who write it now.
    /// - Returns: what is wrong with them, in one sentence, or nil.
    static func lockout(
        database: Permissions, directory: Permissions, user: UInt32, group: UInt32,
        ownerIsIn: (_ group: UInt32) -> Bool
    ) -> String? {
        if user == 0 { return nil }
        let isSetGroup = directory.mode & 0o2000 != 0
        let made = Permissions(
            owner: user, group: isSetGroup ? directory.group : group, mode: database.mode & 0o666)
        let othersMayWrite = made.mode & 0o002 != 0
        let groupMayWrite = made.mode & 0o020 != 0
        if database.owner != user, !othersMayWrite, !(groupMayWrite && ownerIsIn(made.group)) {
            return "its owner (uid \(database.owner)) could not write the -wal and -shm files "
                + "that this process (uid \(user)) would make"
        }
        if groupMayWrite, made.group != database.group, !othersMayWrite {
            return "its group (gid \(database.group)) could not write the -wal and -shm files "
                + "that this process (gid \(made.group)) would make"
        }
        return nil
    }

    private static func requireWritable(_ path: String) throws {
        guard let file = permissions(path) else {
            if errno == EACCES {
                throw SyncError(.notAllowed, "the file cannot be reached", path: path)
            }
            throw SyncError(
                .noSuchFile, "there is no such file", path: path, hint: "Check the path")
        }
        guard file.mode & UInt32(S_IFMT) == UInt32(S_IFREG) else {
            throw SyncError(.notADatabase, "it is not a regular file", path: path)
        }
        let folder =
            (URL(fileURLWithPath: path).resolvingSymlinksInPath()
                .deletingLastPathComponent().path)
        guard access(path, R_OK) == 0 else {
            throw SyncError(.notAllowed, "the file may not be read", path: path)
        }
        guard access(path, W_OK) == 0 else {
            throw SyncError(
                .readOnly, "the file is read-only for this process", path: path,
                hint: "Run as its owner, or: chmod u+w FILE")
        }
        guard access(folder, W_OK) == 0, let directory = permissions(folder) else {
            throw SyncError(
                .readOnly, "the folder is read-only for this process: SQLite needs files in it",
                path: path, hint: "Run as its owner, or: chmod u+w \(folder)")
        }
        guard try isWAL(path) else { return }
        let reason = lockout(
            database: file, directory: directory, user: geteuid(), group: getegid(),
            ownerIsIn: { isMember(user: file.owner, of: $0) })
        if let reason {
            throw SyncError(
                .notAllowed, reason, path: path,
                hint: "Run as the file's owner or as root, or give the folder its group: "
                    + "chgrp and chmod g+s \(folder), chmod g+rw FILE")
        }
    }

    private static func permissions(_ path: String) -> Permissions? {
        var info = stat()
        guard stat(path, &info) == 0 else { return nil }
        return Permissions(owner: info.st_uid, group: info.st_gid, mode: info.st_mode)
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
            throw SyncError.sqlite(connection, status)
        }
        var header = [UInt8](repeating: 0, count: 20)
        let isRead = header.withUnsafeMutableBytes {
            SQLiteFile.database(connection)?.read(into: $0, at: 0) ?? false
        }
        return isRead && header[19] == 2
    }

    private static func isMember(user: UInt32, of group: UInt32) -> Bool {
        guard let account = getpwuid(user) else { return false }
        var count: Int32 = 64
        var groups = [gid_t](repeating: 0, count: Int(count))
        if getgrouplist(account.pointee.pw_name, account.pointee.pw_gid, &groups, &count) < 0 {
            groups = [gid_t](repeating: 0, count: Int(count))
            getgrouplist(account.pointee.pw_name, account.pointee.pw_gid, &groups, &count)
        }
        return groups.prefix(Int(count)).contains(group)
    }
}
