import CLinux
import Glibc
import SyncStorage
import SyncValues
import Synchronization

/// What other threads ask of the watch thread, and the descriptor that wakes it.
///
/// Invariant: a command is in `commands` before the descriptor is written, so that the thread which
/// reads the descriptor first and takes the commands then never leaves one behind.
final class WatchMailbox: Sendable {
    enum Command: Sendable {
        case add(
            StoreWatcher.StoreID, String, WalIndex?, @Sendable (StoreEvent) -> Void)
        case setIndex(StoreWatcher.StoreID, WalIndex?)
        case remove(StoreWatcher.StoreID)
        /// The time is on the monotonic clock.
        case poke(StoreWatcher.StoreID, Int64)
        case perform(@Sendable () -> Void)
        case stop
    }

    private struct State: ~Copyable {
        var commands: [Command] = []
        var posted: UInt64 = 0
        var done: UInt64 = 0
        var isClosed = false
        var thread: pthread_t?
    }

    let descriptor: Int32
    private let state = Mutex(State())

    init() throws {
        descriptor = eventfd(0, Int32(EFD_NONBLOCK) | Int32(EFD_CLOEXEC))
        guard descriptor >= 0 else {
            throw SyncError(.refused, "eventfd: \(String(cString: strerror(errno)))")
        }
    }

    deinit { close(descriptor) }

    func post(_ command: Command) {
        _ = enqueue(command)
        wake()
    }

    /// Returns when the command was executed; at once on the watch thread itself, which does it
    /// soon.
    func postAndWait(_ command: Command) {
        let ticket = enqueue(command)
        wake()
        let isOwn = state.withLock { state in
            state.thread.map { pthread_equal($0, pthread_self()) != 0 } ?? false
        }
        guard let ticket, !isOwn else { return }
        while !state.withLock({ $0.isClosed || $0.done >= ticket }) {
            usleep(Self.waitMicroseconds)
        }
    }

    private static let waitMicroseconds: UInt32 = 50

    private func enqueue(_ command: Command) -> UInt64? {
        state.withLock { state in
            guard !state.isClosed else { return nil }
            state.commands.append(command)
            state.posted += 1
            return state.posted
        }
    }

    private func wake() {
        var one: UInt64 = 1
        _ = write(descriptor, &one, 8)
    }

    // MARK: The watch thread's side

    func begin() { state.withLock { $0.thread = pthread_self() } }

    func take() -> [Command] {
        var count: UInt64 = 0
        _ = read(descriptor, &count, 8)
        return state.withLock { state in
            defer { state.commands = [] }
            return state.commands
        }
    }

    /// `count` commands were executed.
    func finish(_ count: Int) { state.withLock { $0.done += UInt64(count) } }

    func end() {
        state.withLock { state in
            state.isClosed = true
            state.commands = []
        }
    }
}
