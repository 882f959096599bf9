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
/// Who may write: ``WritePermission``.
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
        var folder: WritePermission?
        var last: WritePermission?
        let found = PathWalk.file(at: path) { descriptor, isLast in
            let entry = WritePermission(descriptor)
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

    /// The user that owns what is at `path`, a symbolic link itself; nil when there is nothing.
    static func owner(of path: String) -> UInt32? {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_uid : nil
    }
}
