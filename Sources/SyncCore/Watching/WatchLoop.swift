import CLinux
import Glibc
import SyncStorage

/// The watch thread: waits for events, commands and the next time to check a store, and runs the
/// callbacks.
///
/// One thread, one inotify descriptor. Everything here is confined to the thread.
///
/// Invariants:
/// - A store is in `active` exactly while its `due` is set.
/// - A wal-index is read before the callback that it leads to, never after.
final class WatchLoop {
    private let commands: WatchCommandQueue
    private let watches: WatchTable
    private var stores: [StoreWatcher.WatchID: WatchedStore] = [:]
    private var active: [WatchedStore] = []
    private var pokes: [(id: StoreWatcher.WatchID, time: Int64)] = []
    private var nextSafetyCheck: Int64 = 0
    private var safetyTurn = Turn()
    private var identityTurn = Turn()
    private var isStopped = false

    private static let safetyInterval: Int64 = 250_000_000
    /// Each safety check covers all stores when there are few; of many, a part, so that each store
    /// is checked once a second: reading a thousand wal-indexes costs as many cache misses.
    private static let safetyTurns = 4
    private static let safetyStoresMin = 64
    /// Safety checks in which each store's file is identified once: ten seconds when there are many
    /// stores. Events of the folder come earlier.
    private static let identityTurns = 40
    private static let pollInterval: Int64 = 1_000_000
    private static let burstWindow: Int64 = 50_000_000
    /// Commits in a window above which the -wal is polled: 1,000 a second.
    private static let burstCommitsMin = 50
    /// Commits in a window up to which the -wal is watched again. Lower than the other limit, so
    /// that a steady rate does not alternate.
    private static let quietCommitsMax = 25
    /// Writes without commits, as of one huge transaction, that are not worth a wake each.
    private static let burstEventsMin = 500
    /// After a write in a rollback mode the writer still holds its lock for a moment.
    private static let rollbackDelay: Int64 = 100_000
    /// The longest time by which writes in a rollback mode postpone the check.
    private static let rollbackDelayMax: Int64 = 2_000_000

    init(_ commands: WatchCommandQueue) throws {
        self.commands = commands
        watches = WatchTable(try Inotify())
    }

    func run() {
        commands.open()
        _ = syncd_set_timer_slack(1_000)
        nextSafetyCheck = MonotonicClock.now() + Self.safetyInterval
        while !isStopped {
            let ready = wait()
            if ready.events { handleEvents() }
            if ready.commands { handleCommands() }
            inspectWhereDue()
            if MonotonicClock.now() >= nextSafetyCheck { checkSafely() }
        }
        commands.close()
    }

    private func wait() -> (events: Bool, commands: Bool) {
        var next = nextSafetyCheck
        for store in active { if let due = store.due, due < next { next = due } }
        for poke in pokes where poke.time < next { next = poke.time }
        let now = MonotonicClock.now()
        var descriptors = (
            pollfd(fd: watches.inotify.descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: commands.descriptor, events: Int16(POLLIN), revents: 0)
        )
        let count = withUnsafeMutableBytes(of: &descriptors) { bytes in
            syncd_poll(
                bytes.baseAddress?.assumingMemoryBound(to: pollfd.self), 2, max(next - now, 0))
        }
        guard count > 0 else { return (false, false) }
        return (descriptors.0.revents != 0, descriptors.1.revents != 0)
    }

    // MARK: Checking

    private func inspectWhereDue() {
        let now = MonotonicClock.now()
        for store in active where store.due.map({ $0 <= now }) ?? false { inspect(store, at: now) }
        active.removeAll { $0.due == nil }
        guard !pokes.isEmpty else { return }
        let ripe = pokes.filter { $0.time <= now }
        pokes.removeAll { $0.time <= now }
        for poke in ripe {
            guard let store = stores[poke.id] else { continue }
            _ = store.takeNews()
            store.onEvent(.committed)
        }
    }

    /// Checks a store, and sets when to check it again.
    private func inspect(_ store: WatchedStore, at now: Int64) {
        guard store.index != nil else {
            schedule(store, at: nil)
            report(store)
            return
        }
        switch store.mode {
        case .watching:
            reportNews(of: store, at: now)
            climb(store, at: now)
        case .polling:
            schedule(store, at: now + Self.pollInterval)
            reportNews(of: store, at: now)
            if now - store.windowStart >= Self.burstWindow { endPollingIfQuiet(of: store, at: now) }
        }
    }

    /// Sets `due`; a store joins `active` here, and leaves it after the round.
    private func schedule(_ store: WatchedStore, at due: Int64?) {
        if store.due == nil, due != nil, !active.contains(where: { $0 === store }) {
            active.append(store)
        }
        store.due = due
    }

    private func reportNews(of store: WatchedStore, at now: Int64) {
        let commits = store.takeNews()
        guard commits > 0 else { return }
        store.ladder.noteFound()
        store.commitCount += commits
        store.onEvent(.committed)
    }

    /// Takes the next step of the ladder while a commit is on its way.
    private func climb(_ store: WatchedStore, at now: Int64) {
        let wait = store.mayExpectCommit() ? store.ladder.next() : nil
        schedule(store, at: wait.map { now + $0 })
    }

    private func report(_ store: WatchedStore) {
        _ = store.takeNews()
        store.onEvent(.committed)
    }

    /// The first check after a watch was set: what was written before raised no event, and may not
    /// be published yet.
    private func begin(_ store: WatchedStore) {
        report(store)
        let now = MonotonicClock.now()
        if store.index == nil {
            schedule(store, at: now + Self.rollbackDelay)
        } else {
            startLadder(of: store, at: now)
        }
    }

    // MARK: Bursts

    private func countEvent(of store: WatchedStore, at now: Int64) {
        if now - store.windowStart >= Self.burstWindow {
            store.windowStart = now
            store.eventCount = 0
            store.commitCount = 0
        }
        store.eventCount += 1
        guard
            store.commitCount >= Self.burstCommitsMin || store.eventCount >= Self.burstEventsMin
        else { return }
        watches.removeJournalWatches(of: store)
        store.mode = .polling
        store.windowStart = now
        store.commitCount = 0
        schedule(store, at: now + Self.pollInterval)
    }

    private func endPollingIfQuiet(of store: WatchedStore, at now: Int64) {
        let isQuiet = store.commitCount <= Self.quietCommitsMax
        store.windowStart = now
        store.commitCount = 0
        store.eventCount = 0
        guard isQuiet else { return }
        store.mode = .watching
        watches.addJournalWatches(of: store)
        // What was committed before the watch stood raised no event.
        startLadder(of: store, at: now)
    }

    private func startLadder(of store: WatchedStore, at now: Int64) {
        store.ladder = RecheckLadder()
        reportNews(of: store, at: now)
        climb(store, at: now)
    }

    // MARK: Events

    private func handleEvents() {
        var touched: [WatchedStore] = []
        watches.read { [self] notice in
            switch notice {
            case .written(let store):
                if !touched.contains(where: { $0 === store }) { touched.append(store) }
            case .journalEnded(let store):
                if store.index == nil, !store.isResting {
                    schedule(store, at: MonotonicClock.now() + Self.rollbackDelay / 2)
                }
            case .walAppeared(let store) where store.isResting:
                // A reader makes an empty one. What was written before the watch on it was set
                // raised no event.
                if store.hasWrittenWal { touched.append(store) }
            case .walVanished(let store) where store.isResting:
                // What was in it has been written to the database.
                break
            case .walAppeared(let store), .walVanished(let store):
                store.forgetWal()
                store.onEvent(.journalModeChanged)
                touched.append(store)
            case .fileChanged(let store): checkIdentity(store)
            case .overflow: checkAll()
            }
        }
        let now = MonotonicClock.now()
        for store in touched where stores[store.id] === store {
            if store.isResting {
                store.onEvent(.committed)
            } else if store.index == nil {
                // Each write postpones the check, up to a limit.
                if store.due == nil { store.windowStart = now }
                let latest = store.windowStart + Self.rollbackDelayMax
                schedule(store, at: min(now + Self.rollbackDelay, max(latest, now)))
            } else if store.mode == .watching {
                startLadder(of: store, at: now)
                countEvent(of: store, at: now)
            }
        }
    }

    private func checkIdentity(_ store: WatchedStore) {
        let now = FileIdentity(path: store.path)
        guard now != store.identity else {
            // An event of the -wal tells it at once; there is none of the -shm.
            if store.isForsaken() { store.onEvent(.journalModeChanged) }
            return
        }
        store.identity = now
        store.onEvent(now == nil ? .removed : .replaced)
    }

    // MARK: Safety

    private func checkSafely() {
        nextSafetyCheck = MonotonicClock.now() + Self.safetyInterval
        let now = MonotonicClock.now()
        let count = max(Self.safetyStoresMin, stores.count / Self.safetyTurns + 1)
        for store in safetyTurn.take(count, of: stores) {
            if store.index != nil { reportNews(of: store, at: now) }
            if store.isResting, store.isUnwatched, store.takeFileNews() {
                store.onEvent(.committed)
            }
        }
        for store in identityTurn.take(stores.count / Self.identityTurns + 1, of: stores) {
            checkIdentity(store)
            if store.due == nil { store.forgetWal() }
            if store.index == nil, store.takeFileNews() { store.onEvent(.committed) }
        }
    }

    private func checkAll() {
        let now = MonotonicClock.now()
        for store in Array(stores.values) {
            checkIdentity(store)
            if store.index == nil { report(store) } else { startLadder(of: store, at: now) }
        }
    }

    /// Goes round all stores, some at a time.
    private struct Turn {
        private var waiting: [WatchedStore] = []

        /// The next `count` stores at most; the call after the end of a round begins the next one.
        mutating func take(
            _ count: Int, of stores: [StoreWatcher.WatchID: WatchedStore]
        ) -> [WatchedStore] {
            if waiting.isEmpty { waiting = Array(stores.values) }
            let taken = waiting.suffix(count).filter { stores[$0.id] === $0 }
            waiting.removeLast(min(count, waiting.count))
            return taken
        }
    }

    // MARK: Commands

    private func handleCommands() {
        for entry in commands.take() {
            execute(entry.command)
            entry.completion?.signal()
        }
    }

    private func change(_ store: WatchedStore, to index: WalIndex?, isResting: Bool) {
        watches.removeJournalWatches(of: store)
        store.forgetWal()
        store.index = index
        store.isResting = isResting
        store.mark = nil
        store.mode = .watching
        watches.addJournalWatches(of: store)
    }

    private func execute(_ command: WatchCommandQueue.Command) {
        switch command {
        case .add(let id, let path, let index, let onEvent):
            let store = WatchedStore(id, path: path, index: index, onEvent: onEvent)
            stores[id] = store
            watches.add(store)
            begin(store)
        case .setIndex(let id, let index):
            guard let store = stores[id] else { return }
            change(store, to: index, isResting: false)
            begin(store)
        case .rest(let id):
            guard let store = stores[id] else { return }
            change(store, to: nil, isResting: true)
            schedule(store, at: nil)
            _ = store.takeFileNews()
        case .remove(let id):
            guard let store = stores.removeValue(forKey: id) else { return }
            watches.remove(store)
            store.due = nil
            active.removeAll { $0 === store }
            pokes.removeAll { $0.id == id }
        case .poke(let id, let time): pokes.append((id, time))
        case .perform(let body): body()
        case .stop: isStopped = true
        }
    }
}
