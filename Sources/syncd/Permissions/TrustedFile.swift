import Glibc

/// Whether what the daemon is to obey is in the hands of root and of the daemon's user alone: its
/// configuration, and its state. Who may write these chooses what it opens, where it connects to,
/// and what it forgets.
///
/// The file, and the folder that it is in; the folders above are not looked at. Links are followed:
/// the folder is that of the link, the file that which it leads to.
enum TrustedFile {
    /// What is looked at.
    enum Kind {
        /// A file; one that is not there is left to others to report.
        case file
        /// A folder whose entries are all obeyed.
        case folder
        /// The folder of a named file: with the sticky bit, others may have files of their own
        /// beside it.
        case parent
    }

    /// Why a file or folder is not to be used, and what to do; nil: it may be, or is not there.
    static func objection(
        to path: String, as kind: Kind, user: UInt32 = geteuid()
    ) -> String? {
        var link = stat()
        guard lstat(path, &link) == 0 else { return nil }
        guard link.st_uid == user || link.st_uid == 0 else {
            return foreign(path, owner: link.st_uid, user: user)
        }
        guard let found = WritePermission(at: path) else { return nil }
        guard found.owner == user || found.owner == 0 else {
            return foreign(path, owner: found.owner, user: user)
        }
        if found.isWritten(onlyBy: user) || kind == .parent && found.isSticky { return nil }
        return "other users may write this \(kind == .file ? "file" : "folder"), and so choose "
            + "what the daemon does. Look at what is in it, then keep them out: chmod go-w "
            + "\(path), and where it has an access list: setfacl -b \(path)"
    }

    private static func foreign(_ path: String, owner: UInt32, user: UInt32) -> String {
        "it belongs to uid \(owner), who is neither root nor the user of the daemon (uid \(user)), "
            + "and so chooses what the daemon does. Look at what is in it, then: chown "
            + "\(user == 0 ? "root" : "\(user)") \(path)"
    }

    /// The folder that the file at `path` is in.
    static func parent(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}
