import CLinux
import Glibc
import SyncStorage
import SyncValues

/// The watch thread: waits for events, commands and the next time to look, and calls the owners
/// back.
///
/// One thread, one inotify descriptor. Everything here is confined to the thread.
///
/// Invariants:
/// - A store is in `active` exactly while its `due` is set.
/// - A wal-index is read before the callback that it leads to, never after.
final class WatchLoop {
    private let mailbox: WatchMailbox
    private let watches: WatchTable
    private var stores: [StoreWatcher.StoreID: WatchedStore] = [:]
    private var active: [WatchedStore] = []
    private var pokes: [(id: StoreWatcher.StoreID, time: Int64)] = []
    private var nextSafetyCheck: Int64 = 0
    private var safetyTurn = Turn()
    private var identityTurn = Turn()
    private var isStopped = false

    private static let safetyInterval: Int64 = 250_000_000
    /// Few stores are all looked at in each safety check, many in turns, each once a second:
    /// reading a thousand wal-indexes costs as many cache misses.
    private static let safetyTurns = 4
    private static let safetyStoresMin = 64
    /// Each store's file is identified once in so many safety checks, that is in ten seconds when
    /// there are many stores: events of its folder come first.
    private static let identityTurns = 40
    private static let pollInterval: Int64 = 1_000_000
    private static let burstWindow: Int64 = 50_000_000
    /// Commits in a window above which the -wal is polled: 1,000 a second.
    private static let burstCommitsMin = 50
    /// Below this the watch comes back. Lower than the other, so that a steady rate does not swing.
    private static let quietCommitsMax = 25
    /// Writes without commits, as of one huge transaction, that are not worth a wake each.
    private static let burstEventsMin = 500
    /// After a write in a rollback mode the writer still holds its lock for a moment.
    private static let rollbackDelay: Int64 = 100_000
    /// Writes in a rollback mode postpone the look, so long at most.
    private static let rollbackDelayMax: Int64 = 2_000_000

    init(_ mailbox: WatchMailbox) throws {
        self.mailbox = mailbox
        watches = WatchTable(try Inotify())
    }

    func run() {
        mailbox.begin()
        _ = syncd_set_timer_slack(1_000)
        nextSafetyCheck = MonotonicClock.now() + Self.safetyInterval
        while !isStopped {
            let ready = wait()
            if ready.events { handleEvents() }
            if ready.commands { handleCommands() }
            lookWhereDue()
            if MonotonicClock.now() >= nextSafetyCheck { checkSafely() }
        }
        mailbox.end()
    }

    private func wait() -> (events: Bool, commands: Bool) {
        var next = nextSafetyCheck
        for store in active { if let due = store.due, due < next { next = due } }
        for poke in pokes where poke.time < next { next = poke.time }
        let now = MonotonicClock.now()
        var descriptors = (
            pollfd(fd: watches.inotify.descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: mailbox.descriptor, events: Int16(POLLIN), revents: 0)
        )
        let count = withUnsafeMutableBytes(of: &descriptors) { bytes in
            syncd_poll(
                bytes.baseAddress?.assumingMemoryBound(to: pollfd.self), 2, max(next - now, 0))
        }
        guard count > 0 else { return (false, false) }
        return (descriptors.0.revents != 0, descriptors.1.revents != 0)
    }

    // MARK: Looking

    private func lookWhereDue() {
        let now = MonotonicClock.now()
        for store in active where store.due.map({ $0 <= now }) ?? false { look(store, now) }
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

    /// Sets when to look again, and looks now.
    private func look(_ store: WatchedStore, _ now: Int64) {
        guard store.index != nil else {
            schedule(store, nil)
            report(store)
            return
        }
        switch store.mode {
        case .watching:
            let wait = store.ladder.next()
            schedule(store, wait.map { now + $0 })
            reportNews(store, now)
        case .polling:
            schedule(store, now + Self.pollInterval)
            reportNews(store, now)
            if now - store.windowStart >= Self.burstWindow { endPollingIfQuiet(store, now) }
        }
    }

    /// Sets `due`; a store joins `active` here, and leaves it after the round.
    private func schedule(_ store: WatchedStore, _ due: Int64?) {
        if store.due == nil, due != nil, !active.contains(where: { $0 === store }) {
            active.append(store)
        }
        store.due = due
    }

    private func reportNews(_ store: WatchedStore, _ now: Int64) {
        let commits = store.takeNews()
        guard commits > 0 else { return }
        store.ladder.noteFound()
        store.commitCount += commits
        store.onEvent(.committed)
    }

    private func report(_ store: WatchedStore) {
        _ = store.takeNews()
        store.onEvent(.committed)
    }

    /// The first look after a watch was set: what was written before raised no event, and may not
    /// be published yet.
    private func begin(_ store: WatchedStore) {
        report(store)
        let now = MonotonicClock.now()
        if store.index == nil {
            schedule(store, now + Self.rollbackDelay)
        } else {
            startLadder(store, now)
        }
    }

    // MARK: Bursts

    private func countEvent(_ store: WatchedStore, _ now: Int64) {
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
        schedule(store, now + Self.pollInterval)
    }

    private func endPollingIfQuiet(_ store: WatchedStore, _ now: Int64) {
        let isQuiet = store.commitCount <= Self.quietCommitsMax
        store.windowStart = now
        store.commitCount = 0
        store.eventCount = 0
        guard isQuiet else { return }
        store.mode = .watching
        watches.addJournalWatches(of: store)
        // What was committed before the watch stood raised no event.
        startLadder(store, now)
    }

    private func startLadder(_ store: WatchedStore, _ now: Int64) {
        store.ladder = RecheckLadder()
        reportNews(store, now)
        schedule(store, store.ladder.next().map { now + $0 })
    }

    // MARK: Events

    private func handleEvents() {
        var touched: [WatchedStore] = []
        watches.read { [self] notice in
            switch notice {
            case .written(let store):
                if !touched.contains(where: { $0 === store }) { touched.append(store) }
            case .journalEnded(let store):
                if store.index == nil {
                    schedule(store, MonotonicClock.now() + Self.rollbackDelay / 2)
                }
            case .walAppeared(let store), .walVanished(let store):
                store.onEvent(.journalModeChanged)
                touched.append(store)
            case .fileChanged(let store): checkIdentity(store)
            case .overflow: checkAll()
            }
        }
        let now = MonotonicClock.now()
        for store in touched where stores[store.id] === store {
            if store.index == nil {
                // Each write postpones the look, but not for ever.
                if store.due == nil { store.windowStart = now }
                let latest = store.windowStart + Self.rollbackDelayMax
                schedule(store, min(now + Self.rollbackDelay, max(latest, now)))
            } else if store.mode == .watching {
                startLadder(store, now)
                countEvent(store, now)
            }
        }
    }

    private func checkIdentity(_ store: WatchedStore) {
        let now = FileIdentity(path: store.path)
        guard now != store.identity else { return }
        store.identity = now
        store.onEvent(now == nil ? .removed : .replaced)
    }

    // MARK: Safety

    private func checkSafely() {
        nextSafetyCheck = MonotonicClock.now() + Self.safetyInterval
        let now = MonotonicClock.now()
        let count = max(Self.safetyStoresMin, stores.count / Self.safetyTurns + 1)
        for store in safetyTurn.take(count, of: stores) where store.index != nil {
            reportNews(store, now)
        }
        for store in identityTurn.take(stores.count / Self.identityTurns + 1, of: stores) {
            checkIdentity(store)
            if store.index == nil, store.takeFileNews() { store.onEvent(.committed) }
        }
    }

    private func checkAll() {
        let now = MonotonicClock.now()
        for store in Array(stores.values) {
            checkIdentity(store)
            if store.index == nil { report(store) } else { startLadder(store, now) }
        }
    }

    /// Goes round all stores, some at a time.
    private struct Turn {
        private var waiting: [WatchedStore] = []

        /// The next `count` stores at most; a round that has ended begins anew with the next call.
        mutating func take(
            _ count: Int, of stores: [StoreWatcher.StoreID: WatchedStore]
        ) -> [WatchedStore] {
            if waiting.isEmpty { waiting = Array(stores.values) }
            let taken = waiting.suffix(count).filter { stores[$0.id] === $0 }
            waiting.removeLast(min(count, waiting.count))
            return taken
        }
    }

    // MARK: Commands

    private func handleCommands() {
        let commands = mailbox.take()
        for command in commands { execute(command) }
        mailbox.finish(commands.count)
    }

    private func execute(_ command: WatchMailbox.Command) {
        switch command {
        case .add(let id, let path, let index, let onEvent):
            let store = WatchedStore(id, path: path, index: index, onEvent: onEvent)
            stores[id] = store
            watches.add(store)
            begin(store)
        case .setIndex(let id, let index):
            guard let store = stores[id] else { return }
            watches.removeJournalWatches(of: store)
            store.index = index
            store.mark = nil
            store.mode = .watching
            watches.addJournalWatches(of: store)
            begin(store)
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
