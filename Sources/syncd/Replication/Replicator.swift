import Dispatch
import Glibc
import Logging
import SyncClient
import SyncRemotes
import SyncReplica

/// Synchronises the daemon's stores with their remotes: sends after commits, merges when a remote
/// gives notice of a change, and checks each remote at an interval.
///
/// Invariants
/// - At most one exchange is under way for a store, because a merge takes the store's write lock in
///   turns with its writers; for one owner of stores as many as ``ExchangeSlots`` allows.
/// - Nothing in the actor asks a file system that may not answer: exchanges and folder watches do,
///   outside of it.
/// - The remotes of a store are read from the store with each exchange: a program that adds or
///   removes one need not notify the daemon. Which of them are used: ``FoundRemotes``.
/// - An exchange is made with the file that its remote was chosen for, and with no other.
/// - Nothing here is stored. A daemon that was killed learns what to exchange by asking both sides.
actor Replicator {
    /// Between two rounds: a writer that commits without a pause must not keep the replicator busy.
    private static let pauseMin: Duration = .milliseconds(20)

    private struct Tracked {
        var schedules: ExactMap<RemoteSchedule> = [:]
        var entries: ExactMap<RemoteEntry> = [:]
        /// Those of the file that are not used.
        var ignored: [RemoteEntry] = []
        /// Those of the configuration that are not used.
        var undecided: [RemoteEntry] = []
        /// Those that are used and send in the clear, as it was logged.
        var inTheClear: [RemoteEntry] = []
        var watches: ExactMap<FolderWatch> = [:]
        /// What was logged of each remote's last exchange.
        var differences: ExactMap<[StateDifference]> = [:]
        /// What could not be read or used at the remotes.
        var lacks: ExactMap<SyncError> = [:]
        var isBusy = false
        /// Who the file belonged to when the store was opened.
        var owner: UInt32 = geteuid()
        /// The remotes have to be read again.
        var isStale = true
        var lastRead: ContinuousClock.Instant?
    }

    /// Takes events from any thread.
    nonisolated let queue = ReplicationQueue()
    private var options: ReplicationOptions
    /// The remotes that the configuration names, by the path of the store.
    private var configured: ExactMap<[RemoteEntry]>
    private let log: Logger
    private let executor = BlockingExecutor()
    private let watchQueue = DispatchQueue(label: "syncd.folders")
    private var stores: ExactMap<Tracked> = [:]
    private var slots = ExchangeSlots(own: geteuid())
    private let marks: CrashMarks
    /// When exchanges were last begun.
    private var lastTake = ContinuousClock.now
    /// When the next timer fires; nil: none is set.
    private var timer: ContinuousClock.Instant?

    /// - Parameter marks: remembers which stores of other users are being worked on.
    init(_ configuration: Configuration, marks: CrashMarks, log: Logger) {
        self.marks = marks
        options = configuration.replication
        configured = configuration.remotesByPath
        self.log = log
    }

    /// Works until it is cancelled.
    func run() async {
        await withTaskGroup(of: Void.self) { group in
            for await _ in queue.signals {
                for (path, events) in queue.take() { note(events, of: path) }
                for (path, name) in take() {
                    group.addTask(executorPreference: executor) {
                        await self.exchange(path, with: name)
                    }
                }
                if let time = nextTimer() {
                    group.addTask {
                        try? await Task.sleep(until: time)
                        await self.timerFired(at: time)
                    }
                }
                try? await Task.sleep(for: Self.pauseMin)
                if Task.isCancelled { break }
            }
            group.cancelAll()
        }
    }

    /// Continues with another configuration: if its options differ, each remote is checked soon.
    func adopt(_ configuration: Configuration) {
        let (options, remotes) = (configuration.replication, configuration.remotesByPath)
        for path in stores.keys where remotes[path] != configured[path] {
            stores[path]?.isStale = true
        }
        configured = remotes
        defer { queue.wake() }
        guard options != self.options else { return }
        self.options = options
        let now = ContinuousClock.now
        for path in stores.keys {
            for name in stores[path]?.schedules.keys.sorted() ?? [] {
                stores[path]?.schedules[name]?.adopt(options, at: now)
            }
        }
    }

    // MARK: Events

    private func note(_ events: ReplicationQueue.Events, of path: String) {
        if events.isClosed, !events.isNew {
            stores[path] = nil
            return
        }
        let now = ContinuousClock.now
        var store = stores[path] ?? Tracked()
        let interval = Duration.seconds(options.intervalSeconds)
        if let owner = events.owner { store.owner = owner }
        if events.isNew || store.lastRead.map({ now - $0 >= interval }) ?? true {
            store.isStale = true
        }
        for name in store.schedules.keys {
            if events.committed > 0 {
                store.schedules[name]?.committed(events.committed, at: now, wall: .now())
            }
            if events.remotes.contains(name) { store.schedules[name]?.changed(at: now) }
        }
        stores[path] = store
    }

    /// Sets a timer for what is due first, unless one fires before.
    private func nextTimer() -> ContinuousClock.Instant? {
        guard options.isEnabled else { return nil }
        let dues = stores.values.lazy.filter { !$0.isBusy }.flatMap { store in
            store.schedules.values.compactMap(\.due)
        }
        // A slot may be free again by then.
        let long = slots.nextLong(after: .now)
        // What is due already waits for a slot.
        let waiting = dues.filter { [lastTake] in $0 > lastTake }
        guard let next = [waiting.min(), long].compactMap(\.self).min(),
            timer.map({ next < $0 }) ?? true
        else { return nil }
        timer = next
        return next
    }

    private func timerFired(at time: ContinuousClock.Instant) {
        if timer == time { timer = nil }
        queue.wake()
    }

    /// The exchanges that are to begin now: store, and remote; nil only reads the remotes.
    private func take() -> [(String, String?)] {
        guard options.isEnabled else { return [] }
        let now = ContinuousClock.now
        lastTake = now
        var taken: [(String, String?)] = []
        for (path, store) in stores where !store.isBusy {
            let due = store.schedules.filter { $0.value.due.map { $0 <= now } ?? false }
            let name = due.min { ($0.value.due ?? now) < ($1.value.due ?? now) }?.key
            guard name != nil || store.isStale, slots.take(path, of: store.owner, at: now) else {
                continue
            }
            stores[path]?.isBusy = true
            stores[path]?.isStale = false
            stores[path]?.lastRead = now
            if let name { stores[path]?.schedules[name]?.begin() }
            taken.append((path, name))
        }
        return taken
    }

    // MARK: Exchanges

    private func exchange(_ path: String, with name: String?) async {
        defer {
            slots.free(path)
            stores[path]?.isBusy = false
            queue.wake()
        }
        let isOwn = stores[path]?.owner == geteuid()
        let work = ReplicationWork(path: path, marks: isOwn ? nil : marks)
        do {
            let found = try await work.remotes(configured: configured[path] ?? [])
            await FolderWatch.renew(renew(path, from: found))
            guard let name, let entry = stores[path]?.entries[name] else { return }
            let report = try await work.exchange(entry, of: found.file)
            finish(path, with: name, result: .success(report))
        } catch {
            // The hub reports a store that cannot be opened.
            if let name { finish(path, with: name, result: .failure(error)) }
        }
    }

    /// Takes over the remotes of the store, as they were read.
    ///
    /// - Returns: the watches of their folders.
    private func renew(_ path: String, from found: FoundRemotes) -> [FolderWatch] {
        guard var store = stores[path] else { return [] }
        let now = ContinuousClock.now
        let wanted = found.used
        for entry in wanted where store.entries[entry.name] != entry {
            store.schedules[entry.name] = RemoteSchedule(options, now: now)
            store.schedules[entry.name]?.learn(
                unsent: found.unsent.count, since: found.unsent.since)
            store.watches[entry.name] = watch(entry, of: path, replica: found.replica)
        }
        let names = ExactSet(wanted.map(\.name))
        store.schedules = store.schedules.filter { names.contains($0.key) }
        store.watches = store.watches.filter { names.contains($0.key) }
        store.entries = ExactMap(wanted.map { ($0.name, $0) }) { _, last in last }
        if found.ignored != store.ignored { report(found, of: path) }
        store.ignored = found.ignored
        let former = store.undecided + store.inTheClear
        if found.undecided + found.inTheClear != former { reportClear(found, of: path) }
        (store.undecided, store.inTheClear) = (found.undecided, found.inTheClear)
        stores[path] = store
        return Array(store.watches.values)
    }

    /// A file may name any number of remotes.
    private static let reportedMax = 8

    /// Logs which remotes are not used, and what would have the daemon use them.
    private func report(_ found: FoundRemotes, of path: String) {
        for entry in found.ignored.prefix(Self.reportedMax) {
            let lines = entry.configuration(of: path).map {
                $0.trimmingPrefix(while: { $0 == " " })
            }
            let text =
                "remote \(entry.name) is not used: the database belongs to uid \(found.owner), or "
                + "others may write it, and the daemon runs as uid \(geteuid()). To use it, write "
                + "in stores.d: \(lines.joined(separator: " "))"
            log.warning(
                "\(text)",
                metadata: ["store": .string(path)])
        }
    }

    /// Logs which remotes would get, or get, in the clear what the store encrypts elsewhere.
    private func reportClear(_ found: FoundRemotes, of path: String) {
        for entry in found.undecided.prefix(Self.reportedMax) {
            log.warning(
                "remote \(entry.name) is \(Self.undecidedReason)",
                metadata: ["store": .string(path)])
        }
        for entry in found.inTheClear.prefix(Self.reportedMax) {
            let text =
                "remote \(entry.name) gets everything in the clear, and the store has a key or an "
                + "encrypted remote; see: synctool doctor"
            log.warning("\(text)", metadata: ["store": .string(path)])
        }
    }

    private func watch(
        _ entry: RemoteEntry, of path: String, replica: ReplicaID
    ) -> FolderWatch? {
        guard case .directory(let folder) = try? RemoteAddress(entry.url) else { return nil }
        let (queue, name) = (queue, entry.name)
        return try? FolderWatch(folder, replica: replica, queue: watchQueue) {
            queue.post(about: path) { $0.remotes.insert(name) }
        }
    }

    private func finish(
        _ path: String, with name: String, result: Result<ExchangeReport, any Error>
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
            if stores[path]?.differences[name] ?? [] != report.differences {
                stores[path]?.differences[name] = report.differences
                if let error = StateDifference.error(report.differences, path: path) {
                    log.error("\(error.sentence)", metadata: ["store": .string(path)])
                }
            }
            if stores[path]?.lacks[name]?.reason != report.lack?.reason {
                stores[path]?.lacks[name] = report.lack
                if let lack = report.lack {
                    log.warning(
                        "sync \(name): \(lack.sentence)", metadata: ["store": .string(path)])
                }
            }
            let waiting = report.waiting.filter { !$0.isSettled }
            if report.pulledCount > 0, !waiting.isEmpty {
                let tables = waiting.map { "\($0.count) of \($0.entity)" }
                let list = tables.joined(separator: ", ")
                log.warning(
                    "changes wait for missing tables or columns: \(list); see: synctool sync",
                    metadata: ["store": .string(path)])
            }
        case .failure(let error):
            let error = error as? SyncError ?? SyncError(.internalFault, "\(error)")
            let before = stores[path]?.schedules[name]?.error
            stores[path]?.schedules[name]?.failed(
                error, at: now, wall: .now(), jitter: .random(in: 0...1))
            if before?.reason != error.reason {
                log.warning(
                    "sync \(name): \(error.sentence)", metadata: ["store": .string(path)])
            }
        }
    }

    // MARK: Status

    /// How the remotes of a store are.
    func status(of path: String) -> [RemoteStatus] {
        guard let store = stores[path] else { return [] }
        let ignored = store.ignored.filter { store.entries[$0.name] == nil }.map { entry in
            RemoteStatus(
                name: entry.name, url: entry.shownURL, state: .failed, lastSync: nil,
                behindSince: nil, error: Self.ignoredReason)
        }
        let undecided = store.undecided.map { entry in
            RemoteStatus(
                name: entry.name, url: entry.shownURL, state: .failed, lastSync: nil,
                behindSince: nil, error: Self.undecidedReason)
        }
        let used = store.entries.values.map { entry in
            let schedule = store.schedules[entry.name]
            let error = schedule?.error ?? store.lacks[entry.name]
            var status = RemoteStatus(
                name: entry.name, url: entry.shownURL,
                state: schedule?.due == nil ? .syncing : error == nil ? .idle : .failed,
                lastSync: schedule?.lastSuccess, behindSince: schedule?.behindSince,
                error: error?.reason)
            // It may name another store, which is for the journal alone.
            status.hint = error?.hint?.replacing(#/ \([0-9a-f]{32}\)/#, with: "")
            status.behind = schedule?.knownUnsent.map(Int64.init)
            status.failingSince = schedule?.failingSince
            status.failures = Int64(schedule?.failureCount ?? 0)
            return status
        }
        return (used + ignored + undecided).sorted { $0.name < $1.name }
    }

    private static let undecidedReason =
        "not used by the daemon: the store has a key or an encrypted remote, and this one would "
        + "get everything in the clear. Its entry in the configuration needs encrypted: true, or "
        + "encrypted: false to send in the clear"

    private static let ignoredReason =
        "not used by the daemon, because the database is not its own: see docs/syncd.md, "
        + "Remotes of other users' stores"
}
