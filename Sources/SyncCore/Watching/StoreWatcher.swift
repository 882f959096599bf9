import Glibc
import SyncValues
import Synchronization

/// Reports immediately when a store may have changed, for all stores of the process on one thread.
///
/// Add a store with its wal-index; its callback then runs on the watch thread. It should hand long
/// work to the store's own queue, because the other stores wait meanwhile. The first event is
/// `.committed`, right after `add`: it covers commits made before the watch was set. From then on
/// every commit of any process leads to a `.committed` after it; several may lead to one.
///
/// How it is noticed, and what it costs: `docs/watching.md`.
///
/// Thread-safe. ``stop()`` ends the thread; a watcher that is released stops, too.
public final class StoreWatcher: Sendable {
    /// Identifies one store of one watcher.
    public struct WatchID: Hashable, Sendable {
        package let number: UInt32
    }

    private struct State: ~Copyable {
        var nextNumber: UInt32 = 1
        var thread: pthread_t?
    }

    private let state = Mutex(State())
    private let commands: WatchCommandQueue

    /// Starts the thread.
    ///
    /// - Throws: when the system has no inotify instance or no thread left.
    public init() throws {
        commands = try WatchCommandQueue()
        let loop = try WatchLoop(commands)
        let box = Unmanaged.passRetained(loop)
        var thread = pthread_t()
        let status = pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                Unmanaged<WatchLoop>.fromOpaque(argument).takeRetainedValue().run()
                return nil
            }, box.toOpaque())
        guard status == 0 else {
            box.release()
            throw SyncError(.refused, "no thread: \(String(cString: strerror(status)))")
        }
        state.withLock { $0.thread = thread }
    }

    deinit { stop() }

    /// Begins to watch the store at `path`.
    ///
    /// - Parameters:
    ///   - index: its wal-index, from a connection that stays open; nil in the rollback modes.
    ///   - onEvent: called on the watch thread. What it reads afterwards is at least as new as the
    ///     event.
    /// - Complexity: O(1) for the caller; one or two inotify watches. Where the system has none
    ///   left, the store is checked four times a second.
    public func add(
        path: String, index: WalIndex?, onEvent: @escaping @Sendable (StoreEvent) -> Void
    ) -> WatchID {
        let id = state.withLock { state in
            defer { state.nextNumber += 1 }
            return WatchID(number: state.nextNumber)
        }
        commands.post(.add(id, path, index, onEvent))
        return id
    }

    /// Hands over the wal-index after the journal mode changed, or after a rest; nil: the store is
    /// in a rollback mode now.
    public func setIndex(_ index: WalIndex?, of id: WatchID) { commands.post(.setIndex(id, index)) }

    /// Watches a store to which no connection is left, until ``setIndex(_:of:)``: there is no
    /// wal-index, and each write to the -wal or to the database is a `.committed`, which may come
    /// before the commit is published. After the return nothing that is written raises no event.
    public func rest(_ id: WatchID) { commands.postAndWait(.rest(id)) }

    /// Ends the watch. After the return the callback does not run any more, unless this is called
    /// by a callback.
    public func remove(_ id: WatchID) { commands.postAndWait(.remove(id)) }

    /// Reports a `.committed`, at once or after `delay`: after a writer announced a commit, and to
    /// try again after the store was found locked.
    public func poke(_ id: WatchID, after delay: Duration = .zero) {
        commands.post(.poke(id, MonotonicClock.now() + delay.nanoseconds))
    }

    /// Runs `body` on the watch thread, soon: to check that the thread is alive.
    public func perform(_ body: @escaping @Sendable () -> Void) { commands.post(.perform(body)) }

    /// Ends all watches and the thread, and waits for it. May be called twice; not by a callback.
    public func stop() {
        let thread = state.withLock { state in
            defer { state.thread = nil }
            return state.thread
        }
        guard let thread else { return }
        commands.post(.stop)
        if pthread_equal(thread, pthread_self()) != 0 {
            // The last reference was released in a callback: the thread cannot be joined.
            pthread_detach(thread)
        } else {
            pthread_join(thread, nil)
        }
    }
}
