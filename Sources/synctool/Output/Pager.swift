import Glibc
import SyncCore
import Synchronization

/// Shows the output of this process page by page, as git does.
///
/// The command is `$SYNCTOOL_PAGER`, otherwise `$PAGER`, otherwise `less`; none if it is empty or
/// `cat`, or if the output is no terminal. `less` gets the options `FRX` unless `$LESS` has others:
/// it ends by itself when all fits on one screen. A pager that is quit ends the command: its next
/// line cannot be written (``OutputClosed``).
enum Pager {
    /// The process of the pager; 0: none runs. Read by the signal handler.
    private static let child = Atomic<pid_t>(0)
    /// What standard output and error output were before; -1: not changed.
    private static let outputs = Mutex<(output: Int32, error: Int32)>((-1, -1))

    /// Starts the pager; from now on standard output is its input, and error output, if it is the
    /// terminal, too.
    ///
    /// - Throws: `ioError` when there are no descriptors left.
    static func start() throws {
        // These look at the terminal when they are used first: it is hidden from now on.
        let isTerminal = Terminal.output.isInteractive
        let hasErrors = Terminal.error.isInteractive
        guard isTerminal, child.load(ordering: .relaxed) == 0, let command = command() else {
            return
        }
        setenv("LESS", "FRX", 0)
        setenv("LV", "-c", 0)
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else {
            throw SyncError(
                .ioError, "cannot start the pager: \(String(cString: strerror(errno)))",
                hint: "Add: --no-pager")
        }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        defer { for end in ends { close(end) } }
        let started = ShellProcess.spawn(
            ["-c", command], handing: ends[0], as: STDIN_FILENO)
        guard let pid = try? started.get() else { return }
        child.store(pid, ordering: .sequentiallyConsistent)
        signal(SIGINT) { _ in Pager.interrupt() }
        outputs.withLock { saved in
            saved.output = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)
            dup2(ends[1], STDOUT_FILENO)
            guard hasErrors else { return }
            saved.error = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)
            dup2(ends[1], STDERR_FILENO)
        }
    }

    /// Waits until the user has quit the pager, if there is one; then output and error output are
    /// what they were.
    ///
    /// - Throws: `invalidArgument` when the pager could not be run.
    static func finish() throws {
        let pid = child.exchange(0, ordering: .sequentiallyConsistent)
        guard pid != 0 else { return }
        outputs.withLock { saved in
            dup2(saved.output, STDOUT_FILENO)
            close(saved.output)
            if saved.error >= 0 {
                dup2(saved.error, STDERR_FILENO)
                close(saved.error)
            }
            saved = (-1, -1)
        }
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0, errno == EINTR {}
        signal(SIGINT, SIG_DFL)
        // What a shell says of a program that it cannot run, or not find.
        guard status & 0x7f == 0, [126, 127].contains(status >> 8 & 0xff) else { return }
        throw SyncError(
            .invalidArgument, "the pager '\(command() ?? "")' cannot be run",
            hint: "Set SYNCTOOL_PAGER to another one, or add: --no-pager")
    }

    /// An interrupt from the terminal is the pager's, too, which goes on: without this process
    /// being there the shell would read from the terminal beside it.
    private static func interrupt() {
        let pid = child.load(ordering: .relaxed)
        guard pid != 0 else { _exit(130) }
        // Only what a signal handler may call.
        close(STDOUT_FILENO)
        close(STDERR_FILENO)
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0, errno == EINTR {}
        _exit(130)
    }

    /// What the user has chosen; nil: no pager.
    static func command() -> String? {
        for name in ["SYNCTOOL_PAGER", "PAGER"] {
            guard let value = getenv(name).map({ String(cString: $0) }) else { continue }
            return value.isEmpty || value == "cat" ? nil : value
        }
        let isDumb = getenv("TERM").map { String(cString: $0) == "dumb" } ?? true
        return isDumb || !hasLess ? nil : "less"
    }

    private static var hasLess: Bool {
        let path = getenv("PATH").map { String(cString: $0) } ?? ""
        return path.split(separator: ":").contains { access("\($0)/less", X_OK) == 0 }
    }
}
