import Glibc
import SyncCore

/// A command that was started and waits: its process id is known before it does anything.
///
/// A shell waits for a line on descriptor 3 and then becomes the command. When this process ends
/// before it has sent the line, the shell ends as well. Input, output and error output are those of
/// this process.
struct HeldCommand {
    /// What the shell runs. 125: the command was not released.
    private static let script = #"read -r _ <&3 || exit 125; exec 3<&-; exec "$@""#

    let pid: pid_t
    private let release: Int32

    /// - Throws: `refused` when it cannot be started.
    init(_ command: [String]) throws {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw Self.failure(errno) }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        defer { close(ends[0]) }
        let words = ["-c", Self.script, "sh"] + command
        switch ShellProcess.spawn(words, handing: ends[0], as: 3) {
        case .success(let pid): self.pid = pid
        case .failure(let error):
            close(ends[1])
            throw Self.failure(error.number)
        }
        release = ends[1]
    }

    private static func failure(_ status: Int32) -> SyncError {
        SyncError(
            .refused, "the command cannot be started: \(String(cString: strerror(status)))",
            hint: "Nothing was changed")
    }

    /// Lets the command run, and waits for its end. An interrupt from the terminal ends the command
    /// and not this process.
    ///
    /// - Returns: its exit status; 128 + N when signal N ended it.
    func run() -> Int32 {
        signal(SIGINT, SIG_IGN)
        signal(SIGQUIT, SIG_IGN)
        _ = write(release, "\n", 1)
        close(release)
        return end()
    }

    /// Ends the command, which has not run.
    func cancel() {
        close(release)
        _ = end()
    }

    private func end() -> Int32 {
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0, errno == EINTR {}
        let signal = status & 0x7f
        return signal == 0 ? status >> 8 & 0xff : 128 + signal
    }
}
