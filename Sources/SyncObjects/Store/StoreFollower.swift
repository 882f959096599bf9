import Dispatch
import Foundation
import SyncClient
import SyncCore
import Synchronization

/// Follows what other processes commit to a store.
///
/// Two bells, one book. The bells are syncd's subscription and a watch on the file; the book is the
/// position in history up to which contexts were told. The subscription brings transactions along;
/// the watch has them read from the file, and while a subscription stands it waits a moment first,
/// so that it only does what the daemon did not. Both tell through the same position, so whoever is
/// late tells nothing twice, and neither has to know whether the other lives: the daemon may come,
/// go and restart at any moment.
///
/// Without history (a database that is not tracked) the watch alone is left, and nothing says what
/// was changed.
///
/// Invariants: `token` and `position` only move forward but for a resync, which has everything read
/// again; they are used on `queue` alone, as is `history`.
///
/// `@unchecked Sendable`: what is mutable is confined to `queue`, or guarded by a mutex.
final class StoreFollower: @unchecked Sendable {
    /// How long the watch waits for the daemon's word.
    private static let grace = DispatchTimeInterval.milliseconds(40)
    /// How long after a failed look the next one comes.
    private static let retryDelay: Duration = .milliseconds(60)

    /// One thread watches all stores of the process.
    private static let watcher = Mutex<StoreWatcher?>(nil)

    private let path: String
    let queue = DispatchQueue(label: "syncd.follow", qos: .userInitiated)
    private let shown = Mutex(FollowState())
    private let running = Mutex(Running())

    private struct Running {
        var watch: (watcher: StoreWatcher, id: StoreWatcher.StoreID)?
        var subscription: Task<Void, Never>?
    }

    // Confined to the queue.
    private var history: SyncCore.Store?
    private var token: Token?
    /// The last log row that contexts were told of.
    private var position: Int64 = 0
    private var dataVersion: Int64?
    private var schemaVersion: Int64?
    private var unrecorded: Set<String> = []
    private var isLookScheduled = false

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
        _ = try look(coordinator)
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
            self.hear(event, for: coordinator)
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

    private func hear(_ event: StoreEvent, for coordinator: StoreCoordinator) {
        switch event {
        case .committed, .journalModeChanged:
            queue.async { [weak coordinator] in
                guard let coordinator, !self.isLookScheduled else { return }
                guard self.followState.source == .daemon else { return self.lookNow(coordinator) }
                self.isLookScheduled = true
                self.queue.asyncAfter(deadline: .now() + Self.grace) { [weak coordinator] in
                    self.isLookScheduled = false
                    if let coordinator { self.lookNow(coordinator) }
                }
            }
        case .replaced, .removed:
            queue.async { [weak coordinator] in coordinator?.loseIfReplaced() }
        }
    }

    /// Looks, and again a moment later when that fails.
    private func lookNow(_ coordinator: StoreCoordinator, always: Bool = false) {
        do {
            if always { dataVersion = dataVersion.map { _ in -1 } }
            _ = try lookOnQueue(coordinator)
            shown.withLock { $0.checkError = nil }
        } catch {
            let error = ObjectError(wrapping: error, path: path)
            shown.withLock { $0.checkError = error }
            if error.code == .storeRemoved || error.code == .storeReplaced {
                return coordinator.loseIfReplaced()
            }
            if let watch = running.withLock({ $0.watch }) {
                watch.watcher.poke(watch.id, after: Self.retryDelay)
            }
        }
    }

    /// - Returns: Whether another connection has committed since the last look.
    func look(_ coordinator: StoreCoordinator) throws -> Bool {
        try queue.sync { try lookOnQueue(coordinator) }
    }

    private func lookOnQueue(_ coordinator: StoreCoordinator) throws -> Bool {
        try coordinator.checkFile()
        let versions = try coordinator.versions()
        guard versions.data != dataVersion || versions.schema != schemaVersion else { return false }
        let isFirst = dataVersion == nil
        let hasBegun =
            try versions.schema != schemaVersion ? learnSchema(coordinator) : false
        // What was committed before history is read on is not in what it will tell.
        if isFirst || hasBegun {
            coordinator.publishUnknown(coordinator.allRoots)
        } else {
            try tell(coordinator)
        }
        (dataVersion, schemaVersion) = (versions.data, versions.schema)
        return !isFirst
    }

    /// - Returns: Whether history is read from now on.
    private func learnSchema(_ coordinator: StoreCoordinator) throws -> Bool {
        let had = history != nil
        unrecorded = try coordinator.unrecordedRoots()
        let isTracked = coordinator.state.withLock(\.hasMarkers)
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

    /// History is read from its end on.
    private func begin(reading store: SyncCore.Store, for coordinator: StoreCoordinator) throws {
        coordinator.identities.forgetPositions()
        // What is looked at from here on is new, but for what the head has already.
        _ = try store.look()
        let head = try store.head()
        history = store
        token = head
        position = head.number
    }

    private func tell(_ coordinator: StoreCoordinator) throws {
        guard let history, token != nil else {
            return coordinator.publishUnknown(coordinator.allRoots)
        }
        do {
            if let token { try history.check(token) }
            let look = try history.look()
            if look.tooLarge {
                var query = HistoryQuery()
                query.after = token
                try advance(over: try history.history(query), for: coordinator)
            } else {
                try advance(over: look.transactions, for: coordinator)
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
        token = last.token
        position = last.number
    }

    /// History cannot be continued: everything that is held is read again.
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

    /// - Returns: False when the subscription has to begin anew.
    private func take(_ notice: Notice, for coordinator: StoreCoordinator?) async -> Bool {
        await onQueue { [weak coordinator] in
            guard let coordinator else { return false }
            switch notice {
            case .transaction(let transaction):
                // Without a position of our own there is nothing to continue: the watch begins it.
                guard self.token != nil else { return false }
                self.takeTransaction(transaction, for: coordinator)
            case .storeReplaced:
                coordinator.loseIfReplaced()
                if (try? coordinator.checkFile()) != nil { try? self.startOver(coordinator) }
            case .storeRemoved: coordinator.loseIfReplaced()
            case .schemaChanged, .storeReturned: self.lookNow(coordinator)
            case .began, .gone, .changed, .replaced, .lagged, .historyPurged: break
            }
            return true
        }
    }

    /// Rows of the log do not travel, so that a transaction which others ran into (`coalesced`) may
    /// hold what was told already: that one is read from the file, which knows.
    private func takeTransaction(
        _ transaction: SyncCore.Transaction, for coordinator: StoreCoordinator
    ) {
        guard transaction.number > position else { return }
        if transaction.flags.contains(.coalesced) { return lookNow(coordinator, always: true) }
        coordinator.publish([transaction], after: nil)
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
