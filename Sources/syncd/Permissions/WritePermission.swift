import CLinux
import Glibc

/// Who may write a file or a folder, by its mode and its access list.
///
/// A write permission of the group does not count where the group is the user's private one: it has
/// the user's name, is the user's first group, and has no other member. So a umask of 002, as
/// Debian gives it to users with a group of their own, lets nobody else in. Root's does not count
/// at all.
struct WritePermission {
    let owner: UInt32
    private let group: UInt32
    private let mode: UInt32
    /// An access control list gives permissions to others than owner and group.
    private let hasList: Bool

    init?(_ descriptor: Int32) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        self.init(status, name: "/proc/self/fd/\(descriptor)")
    }

    /// Of the file that `path` leads to; nil when there is none.
    init?(at path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        self.init(status, name: path)
    }

    private init(_ status: stat, name: String) {
        owner = status.st_uid
        group = status.st_gid
        mode = UInt32(status.st_mode)
        hasList = syncd_get_attribute(name, "system.posix_acl_access", nil, 0) > 0
    }

    /// Others may add files, and not remove or replace those of somebody else.
    var isSticky: Bool { mode & 0o1000 != 0 }

    func isWritten(onlyBy user: UInt32) -> Bool {
        guard owner == user || owner == 0, mode & 0o002 == 0 else { return false }
        // With a list, the bits of the group are its mask.
        return mode & 0o020 == 0 || !hasList && Self.isPrivate(group: group, of: user)
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
