import Dispatch
import Glibc
import SyncCore
import Synchronization

/// The threads for everything that waits for SQLite, shared out by user (``UserQueues``): the calls
/// of one user, and the work on the stores of one owner, never take the threads of others.
///
/// Threads are made when a job may start and none is idle, and end when ``idleMax`` others are
/// idle: an idle daemon has few, one that serves many users as many as they keep busy.
///
/// Invariants, guarded by the mutex: no job waits that may start; `handed` has at most as many jobs
/// as there are threads between their wait and the next look at it; once stopped, no job starts.
final class WorkPool: Sendable {
    /// A job. False: the pool was stopped, and the job is not to begin.
    typealias Job = @Sendable (_ isActive: Bool) -> Void

    private struct State {
        var queues: UserQueues<Job>
        var handed: [UserQueues<Job>.Turn] = []
        var idle = 0
        var threads = 0
        var isStopped = false
    }

    /// Idle threads that are kept.
    private static let idleMax = 4

    private let state: Mutex<State>
    private let handing = DispatchSemaphore(value: 0)

    /// - Parameter own: the daemon's user.
    init(own: UInt32 = geteuid()) { state = Mutex(State(queues: UserQueues(own: own))) }

    /// Runs a job on a thread of the user's share. Does not block.
    ///
    /// - Parameter user: the caller of a call; the owner of the store for work on a store.
    func submit(for user: UInt32, _ job: @escaping Job) {
        if add(job, of: user, isLimited: false) == nil { job(false) }
    }

    /// Runs `body` on a thread of the user's share, and waits for it. A task that is cancelled
    /// while its turn has not come is not run.
    ///
    /// - Throws: what `body` throws; `busy` when too much waits for the user, `unreachable` when
    ///   the pool is stopped; `CancellationError`.
    func run<Result: Sendable>(
        for user: UInt32, _ body: @escaping @Sendable () throws -> Result
    ) async throws -> Result {
        let waiting = Waiting()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let id = add(
                    { isActive in
                        guard isActive else {
                            let error: any Error =
                                waiting.isCancelled ? CancellationError() : Self.stopped
                            return continuation.resume(throwing: error)
                        }
                        continuation.resume(with: Swift.Result { try body() })
                    }, of: user, isLimited: true)
                guard let id else { return continuation.resume(throwing: refusal(of: user)) }
                if waiting.begin(id) { drop(id, of: user) }
            }
        } onCancel: {
            if let id = waiting.cancel() { drop(id, of: user) }
        }
    }

    /// What a task and its cancellation know of each other.
    private final class Waiting: Sendable {
        private let state = Mutex<(id: Int?, isCancelled: Bool)>((nil, false))

        var isCancelled: Bool { state.withLock { $0.isCancelled } }

        /// - Returns: whether it was cancelled before.
        func begin(_ id: Int) -> Bool {
            state.withLock { state in
                state.id = id
                return state.isCancelled
            }
        }

        func cancel() -> Int? {
            state.withLock { state in
                state.isCancelled = true
                return state.id
            }
        }
    }

    private func drop(_ id: Int, of user: UInt32) {
        state.withLock { $0.queues.remove(id, of: user) }?(false)
    }

    private static var stopped: SyncError {
        SyncError(.unreachable, "the daemon is stopping", hint: "Connect again")
    }

    private func refusal(of user: UInt32) -> SyncError {
        if state.withLock({ $0.isStopped }) { return Self.stopped }
        return SyncError(
            .busy, "too many calls of uid \(user) wait", hint: "Try again when some have ended")
    }

    /// Starts no job any more; those that wait are called with false. Does not wait for those that
    /// run.
    func stop() {
        let (jobs, idle) = state.withLock { state in
            state.isStopped = true
            return (state.queues.removeAll(), state.idle)
        }
        for job in jobs { job(false) }
        for _ in 0..<idle { handing.signal() }
    }

    // MARK: Threads

    /// - Returns: the job's number; nil when it was not taken.
    private func add(_ job: @escaping Job, of user: UInt32, isLimited: Bool) -> Int? {
        let (id, needsThread) = state.withLock { state -> (Int?, Bool) in
            guard !state.isStopped,
                let id = state.queues.add(job, of: user, isLimited: isLimited)
            else { return (nil, false) }
            guard let turn = state.queues.next() else { return (id, false) }
            state.handed.append(turn)
            if state.idle > 0 {
                state.idle -= 1
                handing.signal()
                return (id, false)
            }
            state.threads += 1
            return (id, true)
        }
        if needsThread { startThread() }
        return id
    }

    private func startThread() {
        var thread = pthread_t()
        let box = Unmanaged.passRetained(self)
        let status = pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                Unmanaged<WorkPool>.fromOpaque(argument).takeRetainedValue().work()
                return nil
            }, box.toOpaque())
        if status == 0 {
            pthread_detach(thread)
        } else {
            box.release()
            // The system has no thread left: one that ends its job takes this one over.
            state.withLock { $0.threads -= 1 }
        }
    }

    private func work() {
        while let turn = take() {
            turn.job(true)
            state.withLock { state in
                state.queues.finish(turn.user)
                if !state.isStopped, let next = state.queues.next() { state.handed.append(next) }
            }
        }
    }

    /// The next job for the calling thread; nil: the thread is to end.
    private func take() -> UserQueues<Job>.Turn? {
        while true {
            let (turn, isLast) = state.withLock { state -> (UserQueues<Job>.Turn?, Bool) in
                if !state.handed.isEmpty { return (state.handed.removeFirst(), false) }
                if state.isStopped || state.idle >= Self.idleMax {
                    state.threads -= 1
                    return (nil, true)
                }
                state.idle += 1
                return (nil, false)
            }
            if turn != nil || isLast { return turn }
            handing.wait()
        }
    }
}
