import CLinux
import Glibc
import SyncStorage

/// The owner of a database file, and whether the database is this daemon's own.
///
/// A database names its remotes itself. The daemon connects to them with the rights and the ssh
/// keys of its own user, so that it may take them only from a file that nobody else has written. It
/// is its own when
/// - the file belongs to the daemon's user, and
/// - no other user may write the file, or none may write its folder: in a folder that others write,
///   the `-wal` that SQLite makes for a database of theirs belongs to the daemon too, and they can
///   rename it.
///
/// Others may be let into a database of one's own: in a folder that is not shared, the sharing of
/// the file is its owner's decision.
///
/// A write permission of the group does not count where the group is the user's private one: it has
/// the user's name and no other member. Root's does not count at all.
struct FileOwnership: Sendable, Equatable {
    /// The file that was looked at.
    let file: FileIdentity
    /// The user that it belongs to.
    let owner: UInt32
    let isOwn: Bool

    /// Looks at the file at `path` (absolute, links resolved); nil when there is none, or a
    /// symbolic link is on the way.
    ///
    /// - Parameter user: the user that the daemon runs as.
    init?(of path: String, user: UInt32 = geteuid()) {
        var folder: Entry?
        var last: Entry?
        let found = PathWalk.file(at: path) { descriptor, isLast in
            let entry = Entry(descriptor)
            if isLast { last = entry } else { folder = entry }
            return entry != nil
        }
        guard let found, let last, let folder else { return nil }
        file = found
        owner = last.owner
        isOwn =
            last.owner == user
            && (last.isWritten(onlyBy: user) || folder.isWritten(onlyBy: user))
    }

    /// What decides who may write a file or a folder.
    private struct Entry {
        let owner: UInt32
        private let group: UInt32
        private let mode: UInt32
        /// An access control list gives permissions to others than owner and group.
        private let hasList: Bool

        init?(_ descriptor: Int32) {
            var status = stat()
            guard fstat(descriptor, &status) == 0 else { return nil }
            owner = status.st_uid
            group = status.st_gid
            mode = UInt32(status.st_mode)
            hasList =
                syncd_get_attribute(
                    "/proc/self/fd/\(descriptor)", "system.posix_acl_access", nil, 0) > 0
        }

        func isWritten(onlyBy user: UInt32) -> Bool {
            guard owner == user || owner == 0, mode & 0o002 == 0 else { return false }
            // With a list, the bits of the group are its mask.
            return mode & 0o020 == 0
                || !hasList && FileOwnership.isPrivate(group: group, of: user)
        }
    }

    /// The user that owns what is at `path`, a symbolic link itself; nil when there is nothing.
    static func owner(of path: String) -> UInt32? {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_uid : nil
    }

    private static let accountBytesMax = 65_536

    /// Whether a group is the user's own: it has the user's name, is the user's first group, and
    /// has no other member.
    private static func isPrivate(group: UInt32, of user: UInt32) -> Bool {
        var buffer = [CChar](repeating: 0, count: accountBytesMax)
        var account = passwd()
        var foundAccount: UnsafeMutablePointer<passwd>?
        guard getpwuid_r(user, &account, &buffer, buffer.count, &foundAccount) == 0,
            foundAccount != nil, account.pw_gid == group
        else { return false }
        let name = String(cString: account.pw_name)
        var entry = Glibc.group()
        var foundGroup: UnsafeMutablePointer<Glibc.group>?
        guard getgrgid_r(group, &entry, &buffer, buffer.count, &foundGroup) == 0,
            foundGroup != nil, String(cString: entry.gr_name) == name
        else { return false }
        var member = entry.gr_mem
        while let present = member, let text = present.pointee {
            if String(cString: text) != name { return false }
            member = present + 1
        }
        return true
    }
}
