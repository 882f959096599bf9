import Glibc
import Logging
import NIOCore
import SyncClient
import SyncCore
import SyncStorage
import Synchronization
import Varlink

/// One store of the daemon: opened, watched, its commits given to its subscribers.
///
/// What runs where: ``handle(_:generation:)`` on the watch thread (read, encode, give to the event
/// loop: nothing there waits for a client); opening, digesting, catch-ups and queries on the pool;
/// timers on the event loop.
///
/// The hub itself is immutable, but for what the configuration says of the store. Its state, with
/// the invariants, is in ``HubState``; whether the store is open, and which caller may open it
/// again, in ``StoreLifecycle``. Between two steps of that state the store may have been closed or
/// opened again: work that began with an ``OpenedStore`` names its generation when it goes on.
final class StoreHub: Sendable {
    /// What the hub works with; shared by all hubs.
    struct Environment: Sendable {
        let watchers: StoreWatchers
        let pool: WorkPool
        let loop: any EventLoop
        let log: Logger
        /// Where the daemon keeps its state.
        let stateDirectory: String
        /// Gets commits, for the remotes of the store.
        let replication: ReplicationQueue
        /// Remembers which stores of other users are being worked on.
        let marks: CrashMarks
        /// The one user whose stores this process serves; nil: it serves those of all.
        var served: UInt32?
        /// Called when a store is opened: for tests.
        var onOpening: (@Sendable (String) -> Void)?

        /// Whether this is the process of another owner than the daemon's user.
        var isWorker: Bool { served.map { $0 != geteuid() } ?? false }

        /// Whether another process serves the file at a path: for the moment until it is given to
        /// it.
        func isElsewhere(_ path: String) -> Bool {
            guard let served, let owner = FileOwnership.owner(of: path) else { return false }
            return owner != served
        }
    }

    /// The database file, links resolved where it existed.
    let path: String
    private let configured: Mutex<Configuration.StoreEntry>
    let environment: Environment
    let log: Logger
    let state = HubState()
    let consumerOwners: ConsumerOwners
    /// Held while the schema is checked and repaired, which opens the file a second time, and while
    /// the store is closed: what is written after the last checkpoint stays in the -wal of a file
    /// that was moved, and would be read as a part of the file that has its name now.
    let repairing = Mutex(())
    /// Held while the store begins or ends a rest.
    let resting = Mutex(())
    /// What ``contents(of:)`` found last.
    let lastContents = Mutex<CountedContents?>(nil)
    /// When the permissions of the subscribers were checked.
    let readers = Mutex(ReaderCheck())
    /// The user that the file belonged to when it was last looked at.
    private let lastOwner: Atomic<UInt32>

    init(_ entry: Configuration.StoreEntry, path: String, environment: Environment) {
        self.path = path
        configured = Mutex(entry)
        self.environment = environment
        consumerOwners = ConsumerOwners(directory: environment.stateDirectory)
        var log = environment.log
        log[metadataKey: "store"] = .string(path)
        self.log = log
        // The owner of a file that is not there yet is most likely that of its folder.
        let folder = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[..<$0]) } ?? ""
        lastOwner = Atomic(FileOwnership.owner(of: folder + "/") ?? geteuid())
    }

    /// What the configuration says of the store.
    var entry: Configuration.StoreEntry { configured.withLock { $0 } }

    /// Takes over what the configuration says now.
    ///
    /// - Returns: whether the store may have to be recorded in another way.
    func adopt(_ entry: Configuration.StoreEntry) -> Bool {
        configured.withLock { former in
            defer { former = entry }
            return !former.recordsLike(entry)
        }
    }

    /// The open store.
    ///
    /// - Throws: ``SyncError``: why there is none.
    func store() throws -> Store { try opened().store }

    /// The open store with its watch.
    ///
    /// - Throws: ``SyncError``: why there is none.
    func opened() throws -> OpenedStore {
        switch state.lifecycle {
        case .open(let opened, _), .leaving(let opened, _): return opened
        case .unavailable(.failed(let error)), .opening(.failed(let error)):
            throw explained(error)
        case .closed:
            // Another process serves it now, or nobody: the next call finds out.
            throw SyncError(
                .unreachable, "the store was closed meanwhile", path: path, hint: "Try again")
        case .unavailable(.missing), .opening(.missing):
            throw SyncError(
                .storeRemoved, "the file is gone", path: path,
                hint: "It is opened again when it comes back; to forget it: "
                    + "synctool untrack --forget DB")
        case .unavailable(.notOpened), .opening(.notOpened), .unavailable(.reopening),
            .opening(.reopening):
            throw isBeingOpened
        }
    }

    /// The error of a call while the store is being opened.
    var isBeingOpened: SyncError {
        SyncError(.busy, "the store is being opened", path: path, hint: "Try again in a moment")
    }

    /// Whether the store is open still in the generation of `opened`.
    func isCurrent(_ opened: OpenedStore) -> Bool {
        state.opened(of: opened.generation) != nil
    }

    /// How the store is, for lists.
    ///
    /// - Parameter opened: what the caller may see; a later opening is shown as missing.
    func summary(showing opened: OpenedStore?) -> StoreSummary {
        let (lifecycle, count) = state.snapshot()
        switch lifecycle {
        case .open(let present, let end) where present.generation == opened?.generation,
            .leaving(let present, let end) where present.generation == opened?.generation:
            return StoreSummary(
                path: path, state: .open, id: present.store.id, replica: present.store.replica,
                head: end.token, subscribers: count, error: nil)
        case .unavailable(.failed(let error)), .opening(.failed(let error)):
            return StoreSummary(
                path: path, state: .failed, id: nil, replica: nil, head: nil, subscribers: count,
                error: explained(error))
        case .open, .leaving, .unavailable, .opening, .closed:
            return StoreSummary(
                path: path, state: .missing, id: nil, replica: nil, head: nil, subscribers: count,
                error: nil)
        }
    }

    var isOpen: Bool { state.opened != nil }

    /// It has not been opened yet, and no attempt has failed.
    var isUntried: Bool {
        switch state.lifecycle {
        case .unavailable(.notOpened), .opening(.notOpened): true
        default: false
        }
    }

    /// Notes that work on the open store fails, until ``HubState/recovered(_:)``; logged when the
    /// reason is another one than before.
    func troubled(_ work: StoreTrouble.Work, by error: any Error) {
        let error = SyncError.known(error)
        troubled(work, reason: error.reason, hint: error.hint)
    }

    /// As ``troubled(_:by:)``.
    func troubled(_ work: StoreTrouble.Work, reason: String, hint: String? = nil) {
        let isNew = state.noteTrouble(work, reason: reason, hint: hint)
        let text = StoreTrouble(work, reason: reason, since: .now()).text
        // A table that cannot be read is looked at with each digest, and is one failure.
        if isNew || work != .unreadable { state.noteError(text) }
        guard isNew, !state.trust.isQuarantined else { return }
        log.warning("\(text + (hint.map { ". \($0)" } ?? ""))")
    }

    /// Logs a failure of opening the store, which may come with every event, only when it changes;
    /// not of a store in quarantine, whose owner may change it as often as they like.
    func logOnce(_ message: String) {
        state.noteError(message)
        if state.isNewFailure(message), !state.trust.isQuarantined { log.warning("\(message)") }
    }
}

// MARK: Whose it is

extension StoreHub {
    /// The user that the file belongs to: the work on the store is done in their share of the
    /// threads (``WorkPool``). Of a file that is gone, the last one's: its owner must not get
    /// another share by taking it away.
    ///
    /// - Complexity: O(1), a system call.
    var owner: UInt32 {
        guard let present = FileOwnership.owner(of: path) else {
            return lastOwner.load(ordering: .relaxed)
        }
        lastOwner.store(present, ordering: .relaxed)
        return present
    }

    /// Whether it belonged to the daemon's user when it was last looked at.
    var isOwn: Bool { lastOwner.load(ordering: .relaxed) == geteuid() }

    /// Runs `body` on a thread of the owner's share, unless the daemon is stopping. Does not block,
    /// nor ask the file system: also for the event loop.
    ///
    /// - Parameter user: the user whose share is taken instead.
    func submit(for user: UInt32? = nil, _ body: @escaping @Sendable () -> Void) {
        let user = user ?? lastOwner.load(ordering: .relaxed)
        environment.pool.submit(for: user) { [self] isActive in
            if isActive { marked(body) }
        }
    }

    /// Runs `body`, which works on the store, so that it is known after a crash.
    func marked<Result>(_ body: () throws -> Result) rethrows -> Result {
        isOwn ? try body() : try environment.marks.working(on: path, body)
    }
}

// MARK: Commits

extension StoreHub {
    /// On the watch thread.
    func handle(_ event: StoreEvent, generation: Int) {
        guard let opened = state.opened(of: generation) else { return }
        switch event {
        case .committed:
            let start = ContinuousClock.now
            state.noteCommit()
            marked { readCommits(of: opened, since: start) }
        case .journalModeChanged:
            let start = ContinuousClock.now
            marked {
                if !state.isResting(generation) {
                    if opened.store.isForsaken { return reopenForsaken() }
                    renewIndex(of: opened)
                }
                readCommits(of: opened, since: start)
            }
        case .removed, .replaced: reopenLater()
        }
    }

    /// The live path: what was committed goes to all subscribers, at once.
    ///
    /// - Parameter start: when the commit was noticed.
    private func readCommits(of opened: OpenedStore, since start: ContinuousClock.Instant) {
        if state.isResting(opened.generation) { return wakeLater(opened) }
        let look: PollResult
        do {
            look = try opened.store.poll(isRepeated: true)
        } catch {
            readFailed(error as? SyncError, of: opened)
            return
        }
        if let fault = opened.journal.fault {
            troubled(.journal, reason: fault, hint: "Make room for it")
            state.recovered([.reading])
        } else {
            state.recovered([.reading, .journal])
        }
        if look.unsettled != nil {
            // A writer holds the lock: its commit may raise no other event.
            opened.watcher.poke(opened.watch, after: .milliseconds(100))
        }
        if let last = look.transactions.last {
            log.debug(
                "noticed transactions: \(look.transactions.count)",
                metadata: ["transaction": "\(last.number)"])
        }
        notifyReplication(of: look)
        if look.schemaChanged { schemaChanged(in: opened) }
        // A large one may lie before the others: then all of them come from history.
        if look.tooLarge || look.transactions.contains(where: PartLimits.message.exceeds) {
            sendAllToHistory(opened)
        } else if !look.transactions.isEmpty {
            distribute(look.transactions[...], of: opened, since: start)
            digestLater()
        }
    }

    /// Others lack what was written here; what came from them does not go back.
    private func notifyReplication(of look: PollResult) {
        let isOwn = look.tooLarge || look.transactions.contains { !$0.flags.contains(.remote) }
        guard isOwn || look.schemaChanged else { return }
        let count = look.transactions.count { !$0.flags.contains(.remote) }
        environment.replication.post(about: path) { events in
            // A large one is not among them.
            if isOwn { events.committed += count + (look.tooLarge ? 1 : 0) }
            if look.schemaChanged { events.isNew = true }
        }
    }

    /// This number of transactions read at once is a burst.
    private static let burstTransactionsMin = 5
    /// After this number the WAL is read again: about a millisecond's work.
    private static let distributedMax = 50

    private func distribute(
        _ transactions: ArraySlice<Transaction>, of opened: OpenedStore,
        since start: ContinuousClock.Instant
    ) {
        let atOnce = transactions.count < Self.burstTransactionsMin
        var rest = transactions
        dismissExcluded(whenDue: true)
        while !rest.isEmpty {
            state.distribute(
                rest.prefix(Self.distributedMax), atOnce: atOnce, generation: opened.generation,
                since: start)
            rest = rest.dropFirst(Self.distributedMax)
            // A failure comes again with the next event, which deals with it.
            if !rest.isEmpty { try? opened.store.findNewBoundaries() }
        }
    }

    /// A commit was too large for one message: all subscribers read it from history, part by part.
    ///
    /// From this moment on none is live, so that no later commit overtakes it; the end of history
    /// is read on the pool.
    private func sendAllToHistory(_ opened: OpenedStore) {
        state.loseEnd(generation: opened.generation)
        releaseMemoryLater()
        findHead(of: opened)
        digestLater(isAwaited: true)
    }

    private func findHead(of opened: OpenedStore) {
        submit { [self] in
            guard isCurrent(opened) else { return }
            guard let head = try? opened.store.head() else {
                environment.loop.scheduleTask(in: .milliseconds(100)) { [weak self] in
                    self?.findHead(of: opened)
                }
                return
            }
            for subscriber in state.findEnd(head, generation: opened.generation) {
                CatchUp(subscriber, of: self).start()
            }
        }
    }

    func readFailed(_ error: SyncError?, of opened: OpenedStore) {
        switch error?.code {
        case .busy?:
            // A writer in a rollback mode is at work: try again soon.
            opened.watcher.poke(opened.watch, after: state.nextLook())
        case .foreignHistory?, .storeReplaced?, .noSuchFile?: reopenLater()
        case .storeDamaged?, .notTracked?: repairDroppedTables(of: opened)
        default:
            troubled(
                .reading,
                by: error ?? SyncError(.internalFault, "the store cannot be read", path: path))
            failed(.reading, of: opened, with: error)
            opened.watcher.poke(opened.watch, after: .milliseconds(500))
        }
    }

    /// The -wal and -shm were taken away: what was committed since is not to be seen by them.
    func reopenForsaken() {
        log.notice(
            """
            the -wal and -shm were removed while the store was open: opening it again. Remove them \
            before a copy is put in place: docs/operations.md, Restore
            """)
        reopenLater()
    }

    private func renewIndex(of opened: OpenedStore) {
        let index = try? opened.store.walIndex()
        state.setPace(index == nil ? .rollback : .wal)
        opened.watcher.setIndex(index, of: opened.watch)
    }
}
