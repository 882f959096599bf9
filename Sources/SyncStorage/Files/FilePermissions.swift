import Glibc

/// The owner, group and mode of a file, as far as they decide who can write it.
package struct FilePermissions: Equatable {
    package var owner: UInt32
    package var group: UInt32
    package var mode: UInt32

    package init(owner: UInt32, group: UInt32, mode: UInt32) {
        self.owner = owner
        self.group = group
        self.mode = mode
    }

    /// The permissions of the file at `path`; nil when there is none, with the reason in `errno`.
    package init?(path: String) {
        var info = stat()
        guard stat(path, &info) == 0 else { return nil }
        self.init(owner: info.st_uid, group: info.st_gid, mode: info.st_mode)
    }

    package var isRegularFile: Bool { mode & UInt32(S_IFMT) == UInt32(S_IFREG) }

    /// Whether the `-wal` and `-shm` files that this process would make beside a database lock out
    /// its present writers.
    /// - Returns: what is wrong with them, in one sentence, or nil.
    package static func lockout(
        database: FilePermissions, directory: FilePermissions, user: UInt32, group: UInt32,
        ownerIsIn: (_ group: UInt32) -> Bool
    ) -> String? {
        if user == 0 { return nil }
        let isSetGroup = directory.mode & 0o2000 != 0
        let made = FilePermissions(
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

    /// Whether a user is in a group.
    static func isMember(user: UInt32, of group: UInt32) -> Bool {
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
