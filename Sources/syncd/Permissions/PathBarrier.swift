import Glibc
import SyncCore

/// A folder on the way to a store that the daemon itself may not search: it cannot look at what is
/// behind it, and so cannot tell who may read the store.
///
/// The store is not served then. That it is one of the daemon's is told to root, to the daemon's
/// user, to the last known owner of the file, and to the owner of this folder, who can open the way
/// again; for all others it does not exist.
struct PathBarrier {
    let folder: String
    private let folderOwner: UInt32
    /// What `ProtectHome=yes` hides from a service.
    private static let homes: Set<String> = ["/home", "/root", "/run/user"]

    /// Nil: nothing keeps the daemon from looking for the file at `path`, which may be missing.
    ///
    /// - Complexity: O(components of the path), a system call each.
    init?(before path: String) {
        var status = stat()
        guard lstat(path, &status) != 0, errno == EACCES else { return nil }
        var folder = path
        repeat {
            guard let slash = folder.utf8.lastIndex(of: UInt8(ascii: "/")),
                slash != folder.startIndex
            else {
                return nil
            }
            folder = String(folder[..<slash])
        } while lstat(folder, &status) != 0
        self.folder = folder
        folderOwner = status.st_uid
    }

    /// Whether a caller is told of the store.
    ///
    /// - Parameter owner: the last known owner of the file.
    func isTold(to uid: UInt32, owner: UInt32) -> Bool {
        [0, geteuid(), owner, folderOwner].contains(uid)
    }

    /// Why the store at `path` is not served, and what to do.
    func error(about path: String) -> SyncError {
        let isHidden = Self.homes.contains(self.folder)
        let folder = Shell.quoted(folder)
        if isHidden {
            return SyncError(
                .notAllowed,
                "not served: the daemon (uid \(geteuid())) sees nothing in \(folder)", path: path,
                hint: "Its unit hides homes (ProtectHome=). Run a daemon of your own: systemctl "
                    + "--user enable --now syncd.socket; or see docs/syncd.md, Permissions. To "
                    + "forget the store: synctool untrack --forget DB")
        }
        return SyncError(
            .notAllowed,
            "not served: the daemon (uid \(geteuid())) may not search the folder \(folder)",
            path: path,
            hint: "Let it in: setfacl -m u:\(geteuid()):x \(folder), and so on for the folders "
                + "below; or run a daemon of your own: syncd --user. To forget the store: "
                + "synctool untrack --forget DB")
    }
}
