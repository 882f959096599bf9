import Dispatch
import Logging
import SyncClient
import SyncRemotes
import SyncReplica

/// Keeps the daemon's stores and their remotes in step: sends after commits, merges when a remote
/// says that it changed, and looks at each from time to time.
///
/// Invariants
/// - At most one exchange is under way for a store, and ``exchangesMax`` in all: a merge takes the
///   store's write lock in turns with its writers.
/// - What is known of a store's remotes is read from the store with each exchange; whoever adds or
///   removes one need not tell the daemon.
/// - Nothing here is stored. A daemon that was killed finds out by asking both sides.
actor Replicator {
    private static let exchangesMax = 2
    /// News is looked at so often at most: a writer flat out must not keep us busy.
    private static let restMin: Duration = .milliseconds(20)

    private struct Tracked {
        var schedules: [String: RemoteSchedule] = [:]
        var entries: [String: RemoteEntry] = [:]
        var watches: [String: FolderWatch] = [:]
        var isBusy = false
        /// The remotes have to be read again.
        var isStale = true
        var lastRead: ContinuousClock.Instant?
    }

    /// Takes news, from whatever thread.
    nonisolated let inbox = ReplicationInbox()
    private var options: ReplicationOptions
    private let log: Logger
    private let executor = BlockingExecutor()
    private let watchQueue = DispatchQueue(label: "syncd.folders")
    private var stores: [String: Tracked] = [:]
    private var running = 0
    /// When the next alarm rings; nil: none is set.
    private var alarm: ContinuousClock.Instant?

    init(_ options: ReplicationOptions, log: Logger) {
        self.options = options
        self.log = log
    }

    /// Works until it is cancelled.
    func run() async {
        await withTaskGroup(of: Void.self) { group in
            for await _ in inbox.wakeUps {
                for (path, news) in inbox.take() { note(news, of: path) }
                for (path, name) in take() {
                    group.addTask(executorPreference: executor) {
                        await self.exchange(path, name)
                    }
                }
                if let time = nextAlarm() {
                    group.addTask {
                        try? await Task.sleep(until: time)
                        await self.ring(time)
                    }
                }
                try? await Task.sleep(for: Self.restMin)
                if Task.isCancelled { break }
            }
            group.cancelAll()
        }
    }

    /// Goes on with other options: each remote is looked at soon.
    func adopt(_ options: ReplicationOptions) {
        guard options != self.options else { return }
        self.options = options
        let now = ContinuousClock.now
        for path in stores.keys {
            for name in stores[path]?.schedules.keys.sorted() ?? [] {
                stores[path]?.schedules[name]?.adopt(options, at: now)
            }
        }
        inbox.wake()
    }

    // MARK: News

    private func note(_ news: ReplicationInbox.News, of path: String) {
        if news.isClosed, !news.isNew {
            stores[path] = nil
            return
        }
        let now = ContinuousClock.now
        var store = stores[path] ?? Tracked()
        let interval = Duration.seconds(options.intervalSeconds)
        if news.isNew || store.lastRead.map({ now - $0 >= interval }) ?? true {
            store.isStale = true
        }
        for name in store.schedules.keys {
            if news.isCommitted { store.schedules[name]?.committed(at: now, wall: .now()) }
            if news.remotes.contains(name) { store.schedules[name]?.changed(at: now) }
        }
        stores[path] = store
    }

    /// Sets an alarm for what is due first, unless one rings before.
    private func nextAlarm() -> ContinuousClock.Instant? {
        guard options.isEnabled else { return nil }
        let dues = stores.values.lazy.filter { !$0.isBusy }.flatMap { store in
            store.schedules.values.compactMap(\.due)
        }
        guard let next = dues.min(), alarm.map({ next < $0 }) ?? true else { return nil }
        alarm = next
        return next
    }

    private func ring(_ time: ContinuousClock.Instant) {
        if alarm == time { alarm = nil }
        inbox.wake()
    }

    /// The exchanges that are to begin now: store, and remote; nil only reads the remotes.
    private func take() -> [(String, String?)] {
        guard options.isEnabled else { return [] }
        let now = ContinuousClock.now
        var taken: [(String, String?)] = []
        for (path, store) in stores where !store.isBusy && running < Self.exchangesMax {
            let due = store.schedules.filter { $0.value.due.map { $0 <= now } ?? false }
            let name = due.min { ($0.value.due ?? now) < ($1.value.due ?? now) }?.key
            guard name != nil || store.isStale else { continue }
            stores[path]?.isBusy = true
            stores[path]?.isStale = false
            stores[path]?.lastRead = now
            if let name { stores[path]?.schedules[name]?.begin() }
            running += 1
            taken.append((path, name))
        }
        return taken
    }

    // MARK: Exchanges

    private func exchange(_ path: String, _ name: String?) async {
        defer {
            running -= 1
            stores[path]?.isBusy = false
            inbox.wake()
        }
        let work = ReplicationWork(path: path)
        do {
            renew(path, try await work.remotes())
            guard let name, let entry = stores[path]?.entries[name] else { return }
            finish(path, name, .success(try await work.exchange(entry)))
        } catch {
            // A store that cannot be opened is the hub's to tell.
            if let name { finish(path, name, .failure(error)) }
        }
    }

    /// Takes over what the store says of its remotes.
    private func renew(_ path: String, _ found: (entries: [RemoteEntry], replica: ReplicaID)) {
        guard var store = stores[path] else { return }
        let now = ContinuousClock.now
        let wanted = found.entries.filter { $0.options.manual != true }
        for entry in wanted where store.entries[entry.name] != entry {
            store.schedules[entry.name] = RemoteSchedule(options, now: now)
            store.watches[entry.name] = watch(entry, path, found.replica)
        }
        let names = Set(wanted.map(\.name))
        store.schedules = store.schedules.filter { names.contains($0.key) }
        store.watches = store.watches.filter { names.contains($0.key) }
        store.entries = Dictionary(uniqueKeysWithValues: wanted.map { ($0.name, $0) })
        for watch in store.watches.values { watch.renew() }
        stores[path] = store
    }

    private func watch(_ entry: RemoteEntry, _ path: String, _ replica: ReplicaID) -> FolderWatch? {
        guard case .directory(let folder) = try? RemoteAddress(entry.url) else { return nil }
        let (inbox, name) = (inbox, entry.name)
        return try? FolderWatch(folder, replica: replica, queue: watchQueue) {
            inbox.tell(path) { $0.remotes.insert(name) }
        }
    }

    private func finish(
        _ path: String, _ name: String, _ result: Result<ExchangeReport, any Error>
    ) {
        let now = ContinuousClock.now
        switch result {
        case .success(let report):
            stores[path]?.schedules[name]?.succeeded(at: now, wall: .now())
            if report.pushedCount + report.pulledCount > 0 {
                log.info(
                    "synced \(name): pulled \(report.pulledCount), pushed \(report.pushedCount)",
                    metadata: ["store": .string(path)])
            }
            if report.pulledCount > 0, !report.waiting.isEmpty {
                let tables = report.waiting.map { "\($0.count) of \($0.entity)" }
                let list = tables.joined(separator: ", ")
                log.warning(
                    "changes wait for a table or column: \(list); see: synctool sync",
                    metadata: ["store": .string(path)])
            }
        case .failure(let error):
            let error = error as? SyncError ?? SyncError(.internalFault, "\(error)")
            let before = stores[path]?.schedules[name]?.error
            stores[path]?.schedules[name]?.failed(error, at: now, jitter: .random(in: 0...1))
            if before?.reason != error.reason {
                log.warning("sync \(name): \(error)", metadata: ["store": .string(path)])
            }
        }
    }

    // MARK: Status

    /// How the remotes of a store are.
    func status(of path: String) -> [RemoteStatus] {
        guard let store = stores[path] else { return [] }
        return store.entries.values.sorted { $0.name < $1.name }.map { entry in
            let schedule = store.schedules[entry.name]
            return RemoteStatus(
                name: entry.name, url: entry.url,
                state: schedule?.due == nil ? .syncing : schedule?.error == nil ? .idle : .failed,
                lastSync: schedule?.lastSuccess, behindSince: schedule?.behindSince,
                error: schedule?.error?.reason)
        }
    }
}
