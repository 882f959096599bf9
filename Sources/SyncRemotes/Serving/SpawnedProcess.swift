import CLinux
import Glibc
import SyncCore
import Synchronization

/// A child process with pipes for its input, output and messages.
///
/// Owns the descriptors and the process: ``close()`` ends both, at the latest in `deinit`. The
/// arguments are passed without a shell.
final class SpawnedProcess: Sendable {
    /// How a process ended.
    enum End: Sendable, Hashable {
        /// It exited with this status.
        case exited(Int32)
        /// A signal ended it.
        case killed(Int32)
        /// It sent nothing for this long and was ended.
        case timedOut(Duration)
        /// It sent something all the time, was not done after this long, and was ended.
        case unfinished(Duration)
    }

    /// How long a process may take to end after it has closed its output.
    private static let endMilliseconds: Int32 = 2000

    let input: Int32
    let output: Int32
    let errors: Int32
    private let pid: pid_t
    private let state = Mutex(State())

    private struct State {
        var isClosed = false
        /// Set after `waitpid`: the pid may then belong to another process.
        var end: End?
    }

    /// Starts a process.
    /// - Parameter command: the program (searched in PATH) and its arguments.
    /// - Throws: `unreachable` when it cannot be started.
    init(_ command: [String]) throws {
        var pipes: [(read: Int32, write: Int32)] = []
        func closeAll() {
            for pipe in pipes { for end in [pipe.read, pipe.write] { Glibc.close(end) } }
        }
        for _ in 0..<3 {
            var ends: [Int32] = [-1, -1]
            // Close-on-exec from the start: another thread may spawn a process at any time.
            let failure = syncd_pipe(&ends)
            guard failure == 0 else {
                closeAll()
                throw SyncError(
                    .unreachable, "cannot create a pipe: \(String(cString: strerror(failure)))",
                    hint: "Raise the limit of open files: ulimit -n")
            }
            pipes.append((ends[0], ends[1]))
        }
        var pid: pid_t = 0
        let status = Self.spawn(
            command, descriptors: [pipes[0].read, pipes[1].write, pipes[2].write], pid: &pid)
        guard status == 0 else {
            closeAll()
            throw SyncError(
                .unreachable,
                "\(command[0]) cannot be started: \(String(cString: strerror(status)))",
                hint: "Install it, or name another program in the environment: SYNCD_SSH")
        }
        for end in [pipes[0].read, pipes[1].write, pipes[2].write] { Glibc.close(end) }
        self.pid = pid
        (input, output, errors) = (pipes[0].write, pipes[1].read, pipes[2].read)
        for end in [input, output, errors] {
            _ = fcntl(end, F_SETFL, fcntl(end, F_GETFL) | O_NONBLOCK)
        }
    }

    deinit { close() }

    private static func spawn(
        _ command: [String], descriptors: [Int32], pid: inout pid_t
    ) -> Int32 {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (target, descriptor) in descriptors.enumerated() {
            posix_spawn_file_actions_adddup2(&actions, descriptor, Int32(target))
        }
        // This process ignores SIGPIPE; a child that inherits this would not end when it exits.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGPIPE)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))
        var arguments = command.map { strdup($0) }
        defer { for argument in arguments { free(argument) } }
        arguments.append(nil)
        return posix_spawnp(&pid, command[0], &actions, &attributes, arguments, environ)
    }

    /// Sends SIGTERM, from any thread; ``close()`` still has to be called.
    func kill() {
        state.withLock { state in
            if state.end == nil { _ = Glibc.kill(pid, SIGTERM) }
        }
    }

    /// Closes the pipes and ends the process. Idempotent.
    func close() {
        let isFirst = state.withLock { state in
            defer { state.isClosed = true }
            return !state.isClosed
        }
        guard isFirst else { return }
        Glibc.close(input)
        _ = wait(milliseconds: 100)
        _ = wait(milliseconds: 0, killingBy: SIGTERM)
        _ = wait(milliseconds: 200)
        _ = wait(milliseconds: 1000, killingBy: SIGKILL)
        Glibc.close(output)
        Glibc.close(errors)
    }

    /// How it ended, after it closed its output; reads the rest of its stderr first.
    func end(draining channel: FrameChannel) -> End {
        let end = wait(milliseconds: Self.endMilliseconds)
        var polled = pollfd(fd: errors, events: Int16(POLLIN), revents: 0)
        while !channel.tail.isAtEnd, poll(&polled, 1, 200) > 0 { channel.tail.read(from: errors) }
        close()
        return end ?? state.withLock { $0.end } ?? .killed(SIGKILL)
    }

    private func wait(milliseconds: Int32, killingBy signal: Int32? = nil) -> End? {
        var left = milliseconds
        while true {
            let end = state.withLock { state -> End? in
                if let end = state.end { return end }
                if let signal { _ = Glibc.kill(pid, signal) }
                var status: Int32 = 0
                guard waitpid(pid, &status, WNOHANG) == pid else { return nil }
                let signal = status & 0x7f
                state.end = signal == 0 ? .exited(status >> 8 & 0xff) : .killed(signal)
                return state.end
            }
            if end != nil || left <= 0 { return end }
            poll(nil, 0, 10)
            left -= 10
        }
    }
}
