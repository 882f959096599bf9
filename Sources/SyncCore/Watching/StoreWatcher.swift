import CLinux
import Glibc
import SyncStorage
import SyncValues
import Synchronization

/// Tells at once when a store may have changed, for all stores of the process on one thread.
///
/// Add a store with its wal-index; its callback then runs on the watch thread. It should hand long
/// work to the store's own queue, because the other stores wait meanwhile. The first event is
/// `.committed`, right after `add`: whatever was committed before the watch stood is seen by the
/// look that follows. From then on every commit of any process leads to a `.committed` after it;
/// several may lead to one.
///
/// How it is noticed, and what it costs: `docs/watching.md`.
///
/// Thread-safe. ``stop()`` ends the thread; a watcher that is dropped stops by itself.
public final class StoreWatcher: Sendable {
    /// Names one store of one watcher.
    public struct StoreID: Hashable, Sendable {
        package let number: UInt32
    }

    private struct State: ~Copyable {
        var nextNumber: UInt32 = 1
        var thread: pthread_t?
    }

    private let state = Mutex(State())
    private let mailbox: WatchMailbox

    /// Starts the thread.
    ///
    /// - Throws: when the system has no inotify instance or no thread left.
    public init() throws {
        mailbox = try WatchMailbox()
        let loop = try WatchLoop(mailbox)
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
    ///   left, the store is looked at four times a second.
    public func add(
        path: String, index: WalIndex?, onEvent: @escaping @Sendable (StoreEvent) -> Void
    ) -> StoreID {
        let id = state.withLock { state in
            defer { state.nextNumber += 1 }
            return StoreID(number: state.nextNumber)
        }
        mailbox.post(.add(id, path, index, onEvent))
        return id
    }

    /// Hands over the wal-index after the journal mode changed; nil: the store is in a rollback
    /// mode now.
    public func setIndex(_ index: WalIndex?, of id: StoreID) { mailbox.post(.setIndex(id, index)) }

    /// Ends the watch. After the return the callback does not run any more, unless this is called
    /// by a callback.
    public func remove(_ id: StoreID) { mailbox.postAndWait(.remove(id)) }

    /// Makes a `.committed`, at once or after `delay`: for writers that say that they have
    /// committed, and for an owner who found the store locked and wants to be asked again.
    public func poke(_ id: StoreID, after delay: Duration = .zero) {
        mailbox.post(.poke(id, MonotonicClock.now() + delay.nanoseconds))
    }

    /// Runs `body` on the watch thread, soon: for an owner who wants to know that the thread lives.
    public func perform(_ body: @escaping @Sendable () -> Void) { mailbox.post(.perform(body)) }

    /// Ends all watches and the thread, and waits for it. May be called twice; not by a callback.
    public func stop() {
        let thread = state.withLock { state in
            defer { state.thread = nil }
            return state.thread
        }
        guard let thread else { return }
        mailbox.post(.stop)
        if pthread_equal(thread, pthread_self()) != 0 {
            // The last reference went away in a callback: nobody waits for the thread.
            pthread_detach(thread)
        } else {
            pthread_join(thread, nil)
        }
    }
}

/// CLOCK_MONOTONIC in nanoseconds.
enum MonotonicClock {
    static func now() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}

extension Duration {
    /// Whole nanoseconds.
    var nanoseconds: Int64 {
        components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000
    }
}

/// `path` with links resolved; as it is when there is no such file.
func resolvedPath(_ path: String) -> String {
    guard let resolved = realpath(path, nil) else { return path }
    defer { free(resolved) }
    return String(cString: resolved)
}
