import Glibc

/// Starts `/bin/sh` with input, output and error output of this process.
enum ShellProcess {
    /// - Parameters:
    ///   - words: the shell's arguments.
    ///   - descriptor: one of this process's that it gets as `number`.
    /// - Returns: its process id; in a failure the error's number.
    static func spawn(
        _ words: [String], handing descriptor: Int32, as number: Int32
    ) -> Result<pid_t, Errno> {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, descriptor, number)
        // This process ignores SIGPIPE; the other must not.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGPIPE)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF))
        var arguments: [UnsafeMutablePointer<CChar>?] =
            (["/bin/sh"] + words).map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var pid: pid_t = 0
        let status = posix_spawn(&pid, "/bin/sh", &actions, &attributes, &arguments, environ)
        return status == 0 ? .success(pid) : .failure(Errno(number: status))
    }

    /// An error number of the system.
    struct Errno: Error {
        let number: Int32
    }
}
