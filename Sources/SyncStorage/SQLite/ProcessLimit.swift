import Glibc

/// Limits of the process that SQLite meets and does not name.
enum ProcessLimit {
    /// The size that a file may have; nil: any.
    static var fileBytes: UInt64? {
        var limit = rlimit()
        // Linux has it as 1, and Glibc as an enumeration of C that Swift does not convert.
        guard getrlimit(__rlimit_resource_t(1), &limit) == 0, limit.rlim_cur < .max else {
            return nil
        }
        return UInt64(limit.rlim_cur)
    }

    /// Whether no file can be opened any more, because as many are open as may be.
    static var hasNoDescriptor: Bool {
        let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
        guard descriptor < 0 else {
            close(descriptor)
            return false
        }
        return [EMFILE, ENFILE].contains(errno)
    }
}
