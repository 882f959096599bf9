import Glibc

/// When the permissions of the subscribers are checked again: when the inode of the file changed
/// (`chmod`, `chown` and `setfacl` change its ctime), else after ``ageMax``, for the directories
/// that lead to it. A value, guarded by its ``StoreHub``.
///
/// Longer, and notices go on for longer to a user who was shut out of a directory; shorter, and
/// each commit costs some system calls for each user that subscribes.
struct ReaderCheck {
    private static let ageMax = Duration.seconds(1)

    private var changed: (seconds: Int, nanoseconds: Int)?
    private var last: ContinuousClock.Instant?

    /// Whether to check now.
    ///
    /// - Complexity: O(1), a system call.
    mutating func isDue(_ path: String, now: ContinuousClock.Instant = .now) -> Bool {
        var status = stat()
        guard lstat(path, &status) == 0 else { return true }
        let present = (Int(status.st_ctim.tv_sec), Int(status.st_ctim.tv_nsec))
        if let changed, changed == present, let last, now - last < Self.ageMax { return false }
        (changed, last) = (present, now)
        return true
    }
}
