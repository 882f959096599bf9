import Dispatch
import Foundation
import SyncClient
import SyncCore
import Synchronization

/// Follows what other processes commit to a store.
///
/// There are two sources of notifications, syncd's subscription and a watch on the file, and one
/// position in history up to which contexts were notified. The subscription delivers transactions;
/// on an event of the watch they are read from the file. While a subscription is active, the watch
/// waits for `grace` first, so that it reads only what the daemon has not sent. Both sources
/// advance the same position, so that no transaction is published twice, and neither depends on the
/// other: the daemon may start, stop and restart at any time.
///
/// Without history (a database that is not tracked) only the watch is used, and it does not say
/// what was changed.
///
/// Invariants: `token` and `position` only move forward, except for a resync, after which
/// everything is read again; they are used on `queue` only, as is `history`.
///
/// `@unchecked Sendable`: what is mutable is confined to `queue`, or guarded by a mutex.
final class StoreFollower: @unchecked Sendable {
    /// Contexts get a transaction whole, so that results change once; one that is larger than this,
    /// in several steps. As a subscription joins parts.
    private static let joined = PartLimits(
        changesMax: 100_000, bytesMax: 64 << 20, valueBytesMax: nil)

    /// How long the watch waits for the daemon.
    private static let grace = DispatchTimeInterval.milliseconds(40)
    /// The delay after which a failed check is repeated.
    private static let retryDelay: Duration = .milliseconds(60)

    /// The watcher of all stores of the process; it has one thread.
    private static let watcher = Mutex<StoreWatcher?>(nil)

    private let path: String
    let queue = DispatchQueue(label: "syncd.follow", qos: .userInitiated)
    private let shown = Mutex(FollowState())
    private let running = Mutex(Running())

    private struct Running {
        var watch: (watcher: StoreWatcher, id: StoreWatcher.WatchID)?
        var subscription: Task<Void, Never>?
    }

    // Confined to the queue.
    private var history: SyncCore.Store?
    private var token: Token?
    /// The last log row that contexts were notified of.
    private var position: Int64 = 0
    private var dataVersion: Int64?
    private var schemaVersion: Int64?
    private var unrecorded: Set<String> = []
    private var isCheckScheduled = false

    init(path: String) { self.path = path }

    deinit { stop() }

    var followState: FollowState { shown.withLock { $0 } }

    func stop() {
        let former = running.withLock { running in
            defer { running = Running() }
            return running
        }
        former.subscription?.cancel()
        if let watch = former.watch { watch.watcher.remove(watch.id) }
    }

    func start(for coordinator: StoreCoordinator, through client: StoreClient?) throws {
        guard running.withLock({ $0.watch == nil }) else { return }
        _ = try check(coordinator)
        let index = try coordinator.read { db in
            try db.sqliteConnection.flatMap { try WalIndex($0) }
        }
        let watcher = try Self.watcher.withLock { shared in
            let watcher = try shared ?? StoreWatcher()
            shared = watcher
            return watcher
        }
        let id = watcher.add(path: path, index: index) { [weak self, weak coordinator] event in
            guard let self, let coordinator else { return }
            self.handle(event, for: coordinator)
        }
        running.withLock { $0.watch = (watcher, id) }
        shown.withLock { $0.source = .file }
        guard let client else { return }
        let subscriber = DaemonSubscriber(client: client, path: path)
        let task = Task { [weak self, weak coordinator] in
            await subscriber.run(
                .init(
                    token: { [weak self] in await self?.currentToken() },
                    take: { [weak self, weak coordinator] notice in
                        await self?.take(notice, for: coordinator) ?? false
                    },
                    resync: { [weak self, weak coordinator] error in
                        await self?.resync(coordinator)
                    },
                    connected: { [weak self] in self?.noteConnection($0) },
                    failed: { [weak self] in self?.noteFailure(of: $0) }))
        }
        running.withLock { $0.subscription = task }
    }

    // MARK: The watch

    private func handle(_ event: StoreEvent, for coordinator: StoreCoordinator) {
        switch event {
        case .committed, .journalModeChanged:
            queue.async { [weak coordinator] in
                guard let coordinator, !self.isCheckScheduled else { return }
                guard self.followState.source == .daemon else { return self.checkNow(coordinator) }
                self.isCheckScheduled = true
                self.queue.asyncAfter(deadline: .now() + Self.grace) { [weak coordinator] in
                    self.isCheckScheduled = false
                    if let coordinator { self.checkNow(coordinator) }
                }
            }
        case .replaced, .removed:
            queue.async { [weak coordinator] in coordinator?.publishIfLost() }
        }
    }

    /// Checks for commits, and again after a delay when that fails.
    private func checkNow(_ coordinator: StoreCoordinator, always: Bool = false) {
        do {
            if always { dataVersion = dataVersion.map { _ in -1 } }
            _ = try checkOnQueue(coordinator)
            shown.withLock { $0.checkError = nil }
        } catch {
            let error = ObjectError(wrapping: error, path: path)
            shown.withLock { $0.checkError = error }
            if error.code == .storeRemoved || error.code == .storeReplaced {
                return coordinator.publishIfLost()
            }
            if let watch = running.withLock({ $0.watch }) {
                watch.watcher.poke(watch.id, after: Self.retryDelay)
            }
        }
    }

    /// - Returns: Whether another connection has committed since the last check.
    func check(_ coordinator: StoreCoordinator) throws -> Bool {
        try queue.sync { try checkOnQueue(coordinator) }
    }

    private func checkOnQueue(_ coordinator: StoreCoordinator) throws -> Bool {
        try coordinator.checkFile()
        let versions = try coordinator.versions()
        guard versions.data != dataVersion || versions.schema != schemaVersion else { return false }
        let isFirst = dataVersion == nil
        let hasBegun =
            try versions.schema != schemaVersion ? learnSchema(coordinator) : false
        // What was committed before this position is not in the history that is read from here.
        if isFirst || hasBegun {
            coordinator.publishUnknown(coordinator.allRoots)
        } else {
            try publishNew(coordinator)
        }
        (dataVersion, schemaVersion) = (versions.data, versions.schema)
        return !isFirst
    }

    /// - Returns: Whether reading history began.
    private func learnSchema(_ coordinator: StoreCoordinator) throws -> Bool {
        let had = history != nil
        unrecorded = try coordinator.unrecordedRoots()
        let isTracked = coordinator.isTracked
        if !isTracked {
            (history, token) = (nil, nil)
        } else if history == nil {
            let store = try SyncCore.Store.open(path)
            try begin(reading: store, for: coordinator)
        }
        let has = history != nil
        shown.withLock { $0.hasHistory = has }
        return has && !had
    }

    /// Begins to read history at its end.
    private func begin(reading store: SyncCore.Store, for coordinator: StoreCoordinator) throws {
        coordinator.identities.forgetPositions()
        // What is found from here on is new, except for what the head includes already.
        _ = try store.poll()
        let head = try store.head()
        history = store
        token = head
        position = head.number
    }

    private func publishNew(_ coordinator: StoreCoordinator) throws {
        guard let history, token != nil else {
            return coordinator.publishUnknown(coordinator.allRoots)
        }
        do {
            if let token { try history.check(token) }
            let look = try history.poll()
            if look.tooLarge {
                var query = HistoryQuery()
                query.after = token
                try history.forEachTransaction(matching: query, inParts: Self.joined) {
                    try advance(over: [$0], for: coordinator)
                    return true
                }
            } else {
                try advance(over: look.transactions, for: coordinator)
            }
            if let unsettled = look.unsettled {
                guard !unsettled.isTransient else {
                    // Asked for again after a delay.
                    throw SyncError(.busy, unsettled.reason, path: path, hint: unsettled.hint)
                }
                coordinator.publishUnknown(coordinator.allRoots)
            }
        } catch let error as SyncError where error.needsResync {
            try startOver(coordinator)
        }
        if !unrecorded.isEmpty { coordinator.publishUnknown(unrecorded) }
    }

    private func advance(
        over transactions: [SyncCore.Transaction], for coordinator: StoreCoordinator
    ) throws {
        guard let last = transactions.last, last.number > position else { return }
        coordinator.publish(transactions, after: position)
        guard last.isComplete else { return }
        token = last.token
        position = last.number
    }

    /// History cannot be continued: begins again at its end, and all held objects are read again.
    private func startOver(_ coordinator: StoreCoordinator) throws {
        let store = try SyncCore.Store.open(path)
        try begin(reading: store, for: coordinator)
        coordinator.publishUnknown(coordinator.allRoots)
        shown.withLock { $0.resyncs += 1 }
    }

    // MARK: The daemon

    private func onQueue<Result: Sendable>(
        _ body: @escaping @Sendable () -> Result
    ) async -> Result {
        await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: body()) }
        }
    }

    private func currentToken() async -> Token? { await onQueue { self.token } }

    private func noteConnection(_ isConnected: Bool) {
        shown.withLock {
            $0.source = isConnected ? .daemon : .file
            if isConnected { $0.daemonError = nil }
        }
    }

    private func noteFailure(of error: any Error) {
        let error = ObjectError(wrapping: error, path: path)
        shown.withLock { $0.daemonError = error }
    }

    /// - Returns: False when the subscription must be renewed.
    private func take(_ notice: Notice, for coordinator: StoreCoordinator?) async -> Bool {
        await onQueue { [weak coordinator] in
            guard let coordinator else { return false }
            switch notice {
            case .transaction(let transaction):
                // Without a position there is nothing to continue: the watch sets one first.
                guard self.token != nil else { return false }
                self.takeTransaction(transaction, for: coordinator)
            case .storeReplaced:
                coordinator.publishIfLost()
                if (try? coordinator.checkFile()) != nil { try? self.startOver(coordinator) }
            case .storeRemoved: coordinator.publishIfLost()
            case .schemaChanged, .storeReturned: self.checkNow(coordinator)
            case .began, .gone, .changed, .replaced, .lagged, .historyPurged: break
            }
            return true
        }
    }

    /// Notices carry no log positions. A transaction that was merged with others (`coalesced`) may
    /// therefore contain changes that were published already: it is read from the file, where each
    /// row has its position.
    private func takeTransaction(
        _ transaction: SyncCore.Transaction, for coordinator: StoreCoordinator
    ) {
        guard transaction.number > position else { return }
        if transaction.flags.contains(.coalesced) { return checkNow(coordinator, always: true) }
        coordinator.publish([transaction], after: nil)
        guard transaction.isComplete else { return }
        token = transaction.token
        position = transaction.number
    }

    private func resync(_ coordinator: StoreCoordinator?) async {
        await onQueue { [weak coordinator] in
            guard let coordinator else { return }
            do {
                try self.startOver(coordinator)
            } catch {
                let error = ObjectError(wrapping: error, path: self.path)
                self.shown.withLock { $0.checkError = error }
            }
        }
    }
}
