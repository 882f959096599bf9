import Logging
import NIOCore
import NIOPosix
import SyncClient
import SyncCore
import Synchronization
import Varlink

/// One store of the daemon: opened, watched, its commits given to its subscribers.
///
/// Who runs what: ``handle(_:_:)`` on the watch thread (look, encode, give to the event loop:
/// nothing there waits for a client); opening, digesting, catch-ups and queries on the pool; timers
/// on the event loop.
///
/// Invariants, guarded by the mutex:
/// - `phase` is `open` exactly while `opened` watches it; events of an earlier opening are dropped
///   by number.
/// - `head` is the last transaction given to `fanOut`, or the end of history at the opening if that
///   is later.
/// - While `isHeadKnown` is false, a commit that nobody was given may be newer than `head`: nobody
///   is live.
/// - At most one reopening and one digest are under way.
final class StoreHub: Sendable {
    /// What the hub works with; shared by all hubs.
    struct Environment: Sendable {
        let watcher: StoreWatcher
        let pool: NIOThreadPool
        let loop: any EventLoop
        let log: Logger
        /// Where the daemon keeps its state.
        let stateDirectory: String
        /// Hears of commits, for the remotes of the store.
        let replication: ReplicationInbox
    }

    enum Phase: Sendable {
        case opening
        case open(Opened)
        case missing
        case failed(SyncError)
        case closed
    }

    /// A store that is open and watched.
    struct Opened: Sendable {
        let store: Store
        let watch: StoreWatcher.StoreID
        let generation: Int
        let journal: BoundaryJournal

        /// The file that is open.
        var identity: FileIdentity { store.file }
        var era: StoreEra { StoreEra(store) }
    }

    struct State {
        var phase = Phase.opening
        var generation = 0
        var head: Token?
        var isHeadKnown = true
        var lastIdentity: FileIdentity?
        var lastEra: StoreEra?
        var fanOut = FanOut()
        var isReopening = false
        var digest = DigestSchedule()
        var lastFailure: String?
        var retryPace = RetryPace()
    }

    /// The database file, links resolved where it existed.
    let path: String
    let entry: Configuration.StoreEntry
    let environment: Environment
    let log: Logger
    let state = Mutex(State())

    init(_ entry: Configuration.StoreEntry, path: String, _ environment: Environment) {
        self.path = path
        self.entry = entry
        self.environment = environment
        var log = environment.log
        log[metadataKey: "store"] = .string(path)
        self.log = log
    }

    /// The open store.
    ///
    /// - Throws: ``SyncError``: why there is none.
    func store() throws -> Store { try opened().store }

    func opened() throws -> Opened {
        switch state.withLock({ $0.phase }) {
        case .open(let opened): return opened
        case .failed(let error): throw error
        case .missing, .closed:
            throw SyncError(
                .storeRemoved, "the file is gone", path: path,
                hint: "It is opened again when it comes back; to forget it: synctool untrack DB")
        case .opening:
            throw SyncError(
                .busy, "the store is being opened", path: path, hint: "Try again in a moment")
        }
    }

    /// How the store is, for lists.
    /// - Parameter opened: what the caller may see; of an opening since then nothing is told.
    func summary(showing opened: Opened?) -> StoreSummary {
        let (phase, head, count) = state.withLock {
            ($0.phase, $0.head, $0.fanOut.entries.count)
        }
        switch phase {
        case .open(let present) where present.generation == opened?.generation:
            return StoreSummary(
                path: path, state: .open, id: present.store.id, replica: present.store.replica,
                head: head, subscribers: count, error: nil)
        case .failed(let error):
            return StoreSummary(
                path: path, state: .failed, id: nil, replica: nil, head: nil, subscribers: count,
                error: error)
        case .open, .opening, .missing, .closed:
            return StoreSummary(
                path: path, state: .missing, id: nil, replica: nil, head: nil, subscribers: count,
                error: nil)
        }
    }

    var isOpen: Bool {
        if case .open = state.withLock({ $0.phase }) { true } else { false }
    }
}

// MARK: Commits

extension StoreHub {
    /// On the watch thread.
    func handle(_ event: StoreEvent, _ generation: Int) {
        guard case .open(let opened) = state.withLock({ $0.phase }),
            opened.generation == generation
        else { return }
        switch event {
        case .committed: look(opened)
        case .journalModeChanged:
            renewIndex(opened)
            look(opened)
        case .removed, .replaced: reopenLater()
        }
    }

    /// The live path: what was committed goes to everybody, at once.
    private func look(_ opened: Opened) {
        let look: Store.Look
        do {
            look = try opened.store.look()
        } catch {
            lookFailed(error as? SyncError, opened)
            return
        }
        tellReplication(look)
        if look.schemaChanged { schemaChanged(opened) }
        // A large one may lie before the others: then all of them come from history.
        if look.tooLarge {
            sendEverybodyToHistory(opened)
        } else if !look.transactions.isEmpty {
            distribute(look.transactions[...], of: opened)
            digestLater()
        }
    }

    /// What others lack is what was written here; what came from them does not go back.
    private func tellReplication(_ look: Store.Look) {
        let isOwn = look.tooLarge || look.transactions.contains { !$0.flags.contains(.remote) }
        guard isOwn || look.schemaChanged else { return }
        environment.replication.tell(path) { news in
            if isOwn { news.isCommitted = true }
            if look.schemaChanged { news.isNew = true }
        }
    }

    /// So many transactions in one look are a burst.
    private static let burstTransactionsMin = 5
    /// After so many, the WAL is looked at again: about a millisecond's work.
    private static let distributedMax = 50

    private func distribute(_ transactions: ArraySlice<Transaction>, of opened: Opened) {
        let atOnce = transactions.count < Self.burstTransactionsMin
        var rest = transactions
        while !rest.isEmpty {
            state.withLock { state in
                for transaction in rest.prefix(Self.distributedMax) {
                    state.fanOut.distribute(transaction, atOnce: atOnce)
                    state.head = transaction.token
                }
            }
            rest = rest.dropFirst(Self.distributedMax)
            // A failure comes again with the next look, which deals with it.
            if !rest.isEmpty { try? opened.store.follow() }
        }
    }

    /// A commit was too large to be put together in memory: everybody reads it from history, page
    /// by page.
    ///
    /// From this moment on nobody is live, so that no later commit overtakes it; where history ends
    /// is asked on the pool.
    private func sendEverybodyToHistory(_ opened: Opened) {
        state.withLock { state in
            state.isHeadKnown = false
            _ = state.fanOut.setPhase(.waitingForStore, of: .live)
        }
        findHead(opened)
        digestLater()
    }

    private func findHead(_ opened: Opened) {
        environment.pool.submit { [self] poolState in
            guard poolState == .active, isCurrent(opened.generation) else { return }
            guard let head = try? opened.store.head() else {
                environment.loop.scheduleTask(in: .milliseconds(100)) { [weak self] in
                    self?.findHead(opened)
                }
                return
            }
            let subscribers = state.withLock { state in
                if head.number > state.head?.number ?? 0 { state.head = head }
                state.isHeadKnown = true
                return state.fanOut.setPhase(.catchingUp, of: .waitingForStore)
            }
            for subscriber in subscribers { CatchUp(self, subscriber).start() }
        }
    }

    private func lookFailed(_ error: SyncError?, _ opened: Opened) {
        switch error?.code {
        case .busy?:
            // A writer in a rollback mode holds its lock: come again.
            environment.watcher.poke(opened.watch, after: .milliseconds(2))
        case .foreignHistory?: reopenLater()
        case .storeDamaged?, .notTracked?: tablesDropped(opened)
        default:
            logOnce(error?.description ?? "the store cannot be read")
            environment.watcher.poke(opened.watch, after: .milliseconds(500))
        }
    }

    private func renewIndex(_ opened: Opened) {
        environment.watcher.setIndex(try? opened.store.walIndex(), of: opened.watch)
    }

    /// A table that is gone may be on its way back, and a new one on its way to another's name:
    /// that is how tables are rebuilt, one statement after the other. Nothing is lost meanwhile.
    private static let rebuildTime: TimeAmount = .milliseconds(500)

    /// Somebody changed tables: triggers are put right where they need it, what was written
    /// meanwhile is recorded, and everybody is told.
    private func schemaChanged(_ opened: Opened, isSettled: Bool = false) {
        environment.pool.submit { [self] poolState in
            guard poolState == .active else { return }
            do {
                let findings = try opened.store.verifyCapture()
                if !isSettled, findings.contains(where: \.isHalfOfARebuild) {
                    environment.loop.scheduleTask(in: Self.rebuildTime) { [weak self] in
                        self?.schemaChanged(opened, isSettled: true)
                    }
                    return
                }
                try repair(opened.store, findings)
                let entities = try opened.store.status().entities
                let reply = SubscriptionReplies.notice(.schemaChanged(entities: entities))
                state.withLock { $0.fanOut.tellAll(reply) }
            } catch let error as SyncError where error.code == .storeDamaged {
                tablesDropped(opened)
            } catch {
                logOnce("schema: \(error)")
            }
        }
    }

    /// Whoever drops one table of the store drops the others, too, one statement after the other;
    /// but every writer is refused until the store is made again.
    private static let droppingTime: TimeAmount = .milliseconds(200)

    /// Tables of the store were dropped: it is opened again, which repairs it.
    func tablesDropped(_ opened: Opened) {
        environment.loop.scheduleTask(in: Self.droppingTime) { [weak self] in
            guard let self, self.isCurrent(opened.generation) else { return }
            self.reopenLater()
        }
    }

    /// Puts right what is wrong with the triggers.
    func repair(_ store: Store, _ findings: [CaptureFinding]) throws {
        guard !findings.isEmpty else { return try store.reloadEntities() }
        let report = try store.repairCapture()
        for finding in report.findings { log.notice("schema: \(finding.explanation)") }
        if report.recoveredCount > 0 {
            log.notice("recorded \(report.recoveredCount) changes that were made meanwhile")
        }
    }

    /// Logs a failure that may come with every wake-up only when it changes.
    func logOnce(_ message: String) {
        let isNew = state.withLock { state in
            defer { state.lastFailure = message }
            return state.lastFailure != message
        }
        if isNew { log.warning("\(message)") }
    }
}
