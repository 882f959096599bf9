import CLinux
import Glibc
import SyncValues
import Synchronization

/// The commands for the watch thread, and the descriptor that wakes it.
///
/// Invariants:
/// - A command is in `entries` before the descriptor is written, so that the thread, which reads
///   the descriptor first and takes the commands then, never leaves one behind.
/// - Every completion is signalled: by the thread that executed its command, or by ``close()``.
final class WatchCommandQueue: Sendable {
    enum Command: Sendable {
        case add(
            StoreWatcher.WatchID, String, WalIndex?, @Sendable (StoreEvent) -> Void)
        case setIndex(StoreWatcher.WatchID, WalIndex?)
        case rest(StoreWatcher.WatchID)
        case remove(StoreWatcher.WatchID)
        /// The time is on the monotonic clock.
        case poke(StoreWatcher.WatchID, Int64)
        case perform(@Sendable () -> Void)
        case stop
    }

    /// A command, and the completion that a thread waits for.
    struct Entry: Sendable {
        let command: Command
        let completion: WatchCompletion?
    }

    private struct State: ~Copyable {
        var entries: [Entry] = []
        var isClosed = false
        var thread: pthread_t?
    }

    let descriptor: Int32
    private let state = Mutex(State())

    /// - Throws: `refused` when the process has no descriptor left.
    init() throws {
        descriptor = eventfd(0, Int32(EFD_NONBLOCK) | Int32(EFD_CLOEXEC))
        guard descriptor >= 0 else {
            throw SyncError(.refused, "eventfd: \(String(cString: strerror(errno)))")
        }
    }

    deinit { Glibc.close(descriptor) }

    /// Appends a command. After ``close()`` it is dropped.
    func post(_ command: Command) {
        _ = append(Entry(command: command, completion: nil))
        wake()
    }

    /// Returns when the command was executed; on the watch thread itself at once, and the command
    /// is executed later.
    func postAndWait(_ command: Command) {
        let isOwn = state.withLock { state in
            state.thread.map { pthread_equal($0, pthread_self()) != 0 } ?? false
        }
        guard !isOwn else { return post(command) }
        let completion = WatchCompletion()
        guard append(Entry(command: command, completion: completion)) else { return }
        wake()
        completion.wait()
    }

    /// - Returns: false when the queue is closed.
    private func append(_ entry: Entry) -> Bool {
        state.withLock { state in
            guard !state.isClosed else { return false }
            state.entries.append(entry)
            return true
        }
    }

    private func wake() {
        var one: UInt64 = 1
        _ = write(descriptor, &one, 8)
    }

    // MARK: The watch thread's side

    /// Makes the calling thread the one that executes commands.
    func open() { state.withLock { $0.thread = pthread_self() } }

    /// The commands posted since the last call, in order.
    func take() -> [Entry] {
        var count: UInt64 = 0
        _ = read(descriptor, &count, 8)
        return state.withLock { state in
            defer { state.entries = [] }
            return state.entries
        }
    }

    /// Drops the commands that were not taken, and every later one; waiting threads go on.
    func close() {
        let dropped = state.withLock { state in
            state.isClosed = true
            defer { state.entries = [] }
            return state.entries
        }
        for entry in dropped { entry.completion?.signal() }
    }
}
