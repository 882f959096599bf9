import CLinux
import Dispatch
import Glibc
import SyncCore
import Synchronization

/// A child process of the daemon, from its start to its end, with one thread that has started it,
/// reads what it says, and waits for its end.
///
/// The thread lives as long as the process: the kernel ends the child with the thread that started
/// it (``syncd_end_with_parent()``), and so with the daemon, however that ends.
final class WorkerProcess: Sendable {
    /// How a process ended.
    enum End: Sendable, Equatable, CustomStringConvertible {
        case exited(Int32)
        case killed(Int32)

        var description: String {
            switch self {
            case .exited(let status): "exit status \(status)"
            case .killed(let signal): "signal \(signal)"
            }
        }
    }

    /// A longer line is cut.
    private static let lineBytesMax = 16 << 10

    let pid: pid_t
    private let state = Mutex(State())

    /// Invariant: `end` is set when the process was waited for: its pid may then be another's.
    private struct State {
        var end: End?
        var waiters: [CheckedContinuation<End, Never>] = []
    }

    private struct Failure: Error { let number: Int32 }

    private final class Started: Sendable {
        let outcome = Mutex<Result<WorkerProcess, Failure>?>(nil)
    }

    /// What the thread is given.
    private struct Start: Sendable {
        let command: [String]
        let environment: [String]
        let inherited: [Int32]
        let onLine: @Sendable (String) -> Void
        let onEnd: @Sendable () -> Void
    }

    /// Starts a process. Waits until it runs, or does not.
    ///
    /// - Parameters:
    ///   - command: the program's path, and its arguments.
    ///   - inherited: the descriptors that it has as 3, 4, …; it has no others but 0, 1 and 2.
    ///   - onLine: called on the thread for each line that it writes to its output or messages.
    ///   - onEnd: called on the thread when it has ended.
    /// - Throws: `unreachable` when it cannot be started.
    static func start(
        _ command: [String], environment: [String], inherited: [Int32],
        onLine: @escaping @Sendable (String) -> Void, onEnd: @escaping @Sendable () -> Void
    ) throws -> WorkerProcess {
        let start = Start(
            command: command, environment: environment, inherited: inherited, onLine: onLine,
            onEnd: onEnd)
        let started = DispatchSemaphore(value: 0)
        let result = Started()
        try thread {
            var ends: [Int32] = [-1, -1]
            var pid: pid_t = 0
            var error = syncd_pipe(&ends)
            if error == 0 { error = spawn(start, output: ends[1], pid: &pid) }
            if ends[1] >= 0 { close(ends[1]) }
            guard error == 0 else {
                if ends[0] >= 0 { close(ends[0]) }
                result.outcome.withLock { $0 = .failure(Failure(number: error)) }
                started.signal()
                return
            }
            let process = WorkerProcess(pid: pid)
            result.outcome.withLock { $0 = .success(process) }
            started.signal()
            process.follow(ends[0], onLine: start.onLine)
            start.onEnd()
        }
        started.wait()
        switch result.outcome.withLock({ $0 }) {
        case .success(let process)?: return process
        case .failure(let failure)?:
            let text = String(cString: strerror(failure.number))
            throw SyncError(.unreachable, "\(command[0]) cannot be started: \(text)")
        case nil: preconditionFailure("the thread signals with an outcome")
        }
    }

    private init(pid: pid_t) { self.pid = pid }

    private static func thread(_ body: @escaping @Sendable () -> Void) throws {
        final class Box: Sendable {
            let body: @Sendable () -> Void
            init(_ body: @escaping @Sendable () -> Void) { self.body = body }
        }
        let box = Unmanaged.passRetained(Box(body))
        var thread = pthread_t()
        let status = pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                Unmanaged<Box>.fromOpaque(argument).takeRetainedValue().body()
                return nil
            }, box.toOpaque())
        guard status == 0 else {
            box.release()
            throw SyncError(.unreachable, "no thread: \(String(cString: strerror(status)))")
        }
        pthread_detach(thread)
    }

    private static func spawn(_ start: Start, output: Int32, pid: inout pid_t) -> Int32 {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        // Above all targets: one that is in its own place would be closed by another one.
        var copies: [Int32] = []
        defer { for copy in copies { close(copy) } }
        for descriptor in [output] + start.inherited {
            let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 16)
            guard copy >= 0 else { return errno }
            copies.append(copy)
        }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, copies[0], 1)
        posix_spawn_file_actions_adddup2(&actions, copies[0], 2)
        for (index, copy) in copies.dropFirst().enumerated() {
            posix_spawn_file_actions_adddup2(&actions, copy, 3 + Int32(index))
        }
        _ = syncd_close_from(&actions, 3 + Int32(start.inherited.count))
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))
        var arguments = start.command.map { strdup($0) }
        var environment = start.environment.map { strdup($0) }
        defer { for text in arguments + environment { free(text) } }
        arguments.append(nil)
        environment.append(nil)
        return posix_spawn(
            &pid, start.command[0], &actions, &attributes, arguments, environment)
    }

    /// Ends it at once, if it has not ended yet. Any thread.
    func kill() {
        state.withLock { state in
            if state.end == nil { _ = Glibc.kill(pid, SIGKILL) }
        }
    }

    /// How it ended; nil while it runs.
    var end: End? { state.withLock { $0.end } }

    /// Waits for its end.
    func waitForEnd() async -> End {
        await withCheckedContinuation { continuation in
            let known: End? = state.withLock { state in
                if state.end == nil { state.waiters.append(continuation) }
                return state.end
            }
            if let known { continuation.resume(returning: known) }
        }
    }

    // MARK: On the thread

    private func follow(_ output: Int32, onLine: (String) -> Void) {
        let handle = syncd_open_process(pid)
        defer {
            close(output)
            if handle >= 0 { close(handle) }
        }
        var lines = LineSplitter(bytesMax: Self.lineBytesMax)
        var polled = [
            pollfd(fd: output, events: Int16(POLLIN), revents: 0),
            pollfd(fd: handle, events: Int16(POLLIN), revents: 0),
        ]
        // Where the kernel has no such handle: until the output is closed.
        while polled[0].fd >= 0 || handle >= 0 {
            let ready = polled.withUnsafeMutableBufferPointer { poll($0.baseAddress, 2, -1) }
            if ready < 0, errno != EINTR { break }
            if polled[0].revents != 0, !lines.read(from: output, onLine) { polled[0].fd = -1 }
            if polled[1].revents != 0 { break }
        }
        // What it wrote before its end; another process may hold the pipe open.
        _ = fcntl(output, F_SETFL, fcntl(output, F_GETFL) | O_NONBLOCK)
        if polled[0].fd >= 0 { while lines.read(from: output, onLine) {} }
        lines.finish(onLine)
        reap()
    }

    private func reap() {
        var status: Int32 = 0
        while waitpid(pid, &status, WNOHANG) == 0 { usleep(1_000) }
        let signal = status & 0x7f
        let end = signal == 0 ? End.exited(status >> 8 & 0xff) : .killed(signal)
        let waiters = state.withLock { state in
            defer { state.waiters = [] }
            state.end = end
            return state.waiters
        }
        for waiter in waiters { waiter.resume(returning: end) }
    }
}
