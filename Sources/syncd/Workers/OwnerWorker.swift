import Logging
import NIOCore
import SyncClient
import SyncCore
import Synchronization
import Varlink

/// The worker process for the stores of one owner: started while there are any, asked every second
/// whether it works, ended when it does not, and started again.
///
/// A worker that ends is started again at once; one that ends again before it has run for
/// ``soundAge``, after pauses that double up to ``pauseMax``. Shorter pauses, and a store that ends
/// it each time keeps a processor busy; longer ones, and the owner's other stores wait. After two
/// ends in a row the store that was being worked on is left alone (``CrashMarks``), and the worker
/// runs.
///
/// Invariants: at most one process runs; steps follow each other (``run()``); `served` is the
/// version of the list of stores that the running process has, and never above that of `wanted`.
actor OwnerWorker {
    private enum State {
        /// There is no process: none is needed, or it is to be started now.
        case idle
        case starting
        case running(WorkerLink)
        /// It ended; another one is started when the pause is over.
        case pausing(until: ContinuousClock.Instant, reason: String)
        case stopped
    }

    /// What all workers are started with.
    struct Environment: Sendable {
        /// The path of this program.
        let program: String
        let loop: any EventLoop
        let log: Logger
    }

    /// What it is to serve. Each change has a number.
    private struct Wanted {
        var configuration: Configuration
        var version = 0
        var retries = false
    }

    private struct Waiter {
        let end: ContinuousClock.Instant
        let continuation: CheckedContinuation<WorkerLink, any Error>
    }

    private static let soundAge = Duration.seconds(60)
    private static let pauseMin = Duration.seconds(1)
    private static let pauseMax = Duration.seconds(60)
    /// How long it stays without stores.
    private static let idleMax = Duration.seconds(10)
    private static let stopMax = Duration.seconds(8)
    /// A process that has closed its connection is gone after so long.
    private static let endMax = Duration.milliseconds(100)

    nonisolated let owner: UInt32
    private nonisolated let environment: Environment
    private nonisolated let signals: AsyncStream<Void>
    private nonisolated let signal: AsyncStream<Void>.Continuation
    private nonisolated let wanted: Mutex<Wanted>
    private nonisolated let running = Atomic(false)
    private nonisolated let lastCondition = Mutex(WorkerLink.Condition())

    private var state = State.idle {
        didSet {
            if case .running = state {
                running.store(true, ordering: .relaxed)
            } else {
                running.store(false, ordering: .relaxed)
            }
        }
    }
    private var served = -1
    private var failures = 0
    private var began = ContinuousClock.now
    private var emptySince: ContinuousClock.Instant?
    private var waiters: [Waiter] = []

    /// - Parameter configuration: without stores.
    init(owner: UInt32, configuration: Configuration, environment: Environment) {
        self.owner = owner
        self.environment = environment
        wanted = Mutex(Wanted(configuration: configuration))
        (signals, signal) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Serves the stores of a configuration from now on, and no others. Does not block.
    ///
    /// - Parameter retries: tries those again that could not be opened.
    nonisolated func serve(_ configuration: Configuration, retries: Bool) {
        wanted.withLock { wanted in
            wanted.configuration = configuration
            wanted.version += 1
            wanted.retries = wanted.retries || retries
        }
        signal.yield()
    }

    /// How its stores are, as of its last answer.
    nonisolated var condition: WorkerLink.Condition { lastCondition.withLock { $0 } }

    /// Whether there is a process that works.
    nonisolated var isRunning: Bool { running.load(ordering: .relaxed) }

    private nonisolated var version: Int { wanted.withLock { $0.version } }

    private nonisolated var hasStores: Bool {
        wanted.withLock { !$0.configuration.stores.isEmpty }
    }

    private nonisolated var answerMax: Duration {
        .seconds(wanted.withLock { $0.configuration.workers.answerSeconds })
    }

    /// The process, when it has the stores of now; it is started if necessary.
    ///
    /// - Parameter limit: how long to wait for it, about.
    /// - Throws: `unreachable`: why there is none.
    func link(within limit: Duration) async throws -> WorkerLink {
        switch state {
        case .running(let link) where served == version: return link
        case .pausing(let end, let reason) where end > .now: throw pausing(until: end, reason)
        case .stopped: throw unavailable("the daemon is stopping")
        case .idle, .starting, .running, .pausing: break
        }
        return try await withCheckedThrowingContinuation { continuation in
            waiters.append(Waiter(end: .now + limit, continuation: continuation))
            signal.yield()
        }
    }

    private func answerWaiters(_ result: Result<WorkerLink, any Error>) {
        let all = waiters
        waiters = []
        for waiter in all { waiter.continuation.resume(with: result) }
    }

    private func unavailable(_ reason: String) -> SyncError {
        SyncError(
            .unreachable, "the process that serves the stores of uid \(owner): \(reason)",
            hint: "Try again in a moment; the daemon's log says more")
    }

    private func pausing(until end: ContinuousClock.Instant, _ reason: String) -> SyncError {
        let seconds = max(.zero, end - .now).components.seconds + 1
        return unavailable("\(reason); another one is started in \(seconds) s")
    }

    // MARK: Steps

    /// Works until its task is cancelled, or until ``stop()``.
    func run() async {
        for await _ in signals {
            await step()
            if case .stopped = state { return }
        }
    }

    /// Each second: looks after the process, and answers those who have waited too long.
    func tick() {
        let now = ContinuousClock.now
        for waiter in waiters where waiter.end <= now {
            waiter.continuation.resume(throwing: unavailable("it is being started"))
        }
        waiters.removeAll { $0.end <= now }
        signal.yield()
    }

    private func step() async {
        switch state {
        case .idle: if hasStores || !waiters.isEmpty { await start() }
        case .pausing(let end, _):
            if !hasStores, waiters.isEmpty {
                (state, failures) = (.idle, 0)
            } else if end <= .now {
                await start()
            }
        case .running(let link): await look(after: link)
        case .starting, .stopped: break
        }
    }

    private func start() async {
        state = .starting
        began = .now
        served = -1
        var options = wanted.withLock { $0.configuration }
        options.stores = []
        var started: WorkerLink?
        do {
            let link = try await WorkerLink.start(
                WorkerSettings(owner: owner, configuration: options),
                program: environment.program, loop: environment.loop, log: environment.log,
                onEnd: { [signal] in signal.yield() })
            started = link
            try await update(link)
            // It was stopped meanwhile.
            guard case .starting = state else { return link.process.kill() }
            state = .running(link)
            environment.log.info(
                "started a worker", metadata: ["owner": "\(owner)", "pid": "\(link.process.pid)"])
            answerOrGoOn(with: link)
        } catch {
            await ended(started, error: error)
        }
    }

    /// Gives it the list of stores.
    private func update(_ link: WorkerLink) async throws {
        let now = wanted.withLock { wanted in
            defer { wanted.retries = false }
            return wanted
        }
        try await link.serve(now.configuration, retries: now.retries, within: answerMax)
        served = now.version
    }

    private func answerOrGoOn(with link: WorkerLink) {
        if served == version { answerWaiters(.success(link)) } else { signal.yield() }
    }

    private func look(after link: WorkerLink) async {
        do {
            if served != version { try await update(link) }
            answerOrGoOn(with: link)
            let condition = try await link.ping(within: answerMax)
            lastCondition.withLock { $0 = condition }
            await endIfIdle(link)
        } catch {
            await ended(link, error: error)
        }
    }

    private func endIfIdle(_ link: WorkerLink) async {
        guard !hasStores, waiters.isEmpty else { return emptySince = nil }
        let since = emptySince ?? .now
        emptySince = since
        guard ContinuousClock.now - since >= Self.idleMax else { return }
        // Who asks meanwhile waits for the next one.
        state = .starting
        await link.stop(within: Self.stopMax)
        guard case .starting = state else { return }
        (state, emptySince) = (.idle, nil)
        environment.log.info("ended a worker without stores", metadata: ["owner": "\(owner)"])
        signal.yield()
    }

    private func ended(_ link: WorkerLink?, error: any Error) async {
        var reason = "\(error)"
        if let link {
            let isHung = (error as? TransportError)?.code == .timedOut
            // The connection ends a moment before the process.
            if !isHung, link.process.end == nil { try? await Task.sleep(for: Self.endMax) }
            let wasRunning = link.process.end == nil
            link.process.kill()
            let end = await link.process.waitForEnd()
            if isHung {
                reason = "it did not answer within \(answerMax) and was ended"
            } else if !wasRunning {
                reason = "it ended with \(end)"
            }
        }
        if case .stopped = state { return }
        failures = ContinuousClock.now - began >= Self.soundAge ? 1 : failures + 1
        let pause =
            failures == 1
            ? .zero : min(Self.pauseMin * (1 << min(failures - 2, 10)), Self.pauseMax)
        let next = ContinuousClock.now + pause
        state = .pausing(until: next, reason: reason)
        let count = wanted.withLock { $0.configuration.stores.count }
        lastCondition.withLock { $0 = .init(stores: count, closed: count) }
        environment.log.error(
            "a worker: \(reason); another one is started in \(pause.components.seconds) s",
            metadata: ["owner": "\(owner)"])
        // Those who wait while it is started at once wait for that.
        if pause == .zero {
            signal.yield()
        } else {
            answerWaiters(.failure(pausing(until: next, reason)))
        }
    }

    /// Ends the process for good.
    func stop() async {
        let before = state
        state = .stopped
        answerWaiters(.failure(unavailable("the daemon is stopping")))
        signal.finish()
        if case .running(let link) = before { await link.stop(within: Self.stopMax) }
    }
}
