import Foundation

/// Which file is at a path. SQLite goes on writing to a file that was moved away, and a WAL that is
/// left behind then damages the new one: so each write looks first.
struct StoreFileIdentity: Sendable, Hashable {
    let inode: UInt64
    let device: UInt64

    /// Nil when there is no file.
    init?(path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        inode = UInt64(status.st_ino)
        device = UInt64(status.st_dev)
    }
}
