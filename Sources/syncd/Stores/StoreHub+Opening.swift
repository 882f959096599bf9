import Glibc
import SyncClient
import SyncCore
import SyncStorage
import Varlink

/// Opening, and opening again when the file was removed or replaced. Everything here blocks: on the
/// pool, or before the daemon serves.
///
/// All ways take the turn with ``HubState/beginOpening()`` and end it in ``openNow()`` or
/// ``HubState/abandonOpening()`` (``StoreLifecycle``).
extension StoreHub {
    /// Opens the store, unless it is open; a failure is kept, logged once and tried again by
    /// ``retry()``.
    func open() {
        if !isOpen, state.beginOpening() { marked { reopen() } }
    }

    /// Opens the store for a call about it, or waits for the one who is at it: to the caller it is
    /// open from the start. Not for long: the owner of the file decides how long that takes.
    ///
    /// - Parameters:
    ///   - caller: the user in whose share of the threads this runs.
    ///   - end: when to stop waiting.
    func openFirst(for caller: UInt32, until end: ContinuousClock.Instant) {
        // In the share of the owner, who decides how long it takes; but one who waits for it there
        // must not keep the thread from it.
        if caller == owner { open() } else if isUntried { reopenLater() }
        while isUntried, ContinuousClock.now < end { usleep(1_000) }
    }

    /// Opens what could not be opened before, if its file is there and its pause is over
    /// (``StoreTrust``). Does not block.
    func retry() {
        guard !isOpen, FileOwnership.owner(of: path) != nil else { return }
        if state.beginRetry(path, isOwn: owner == geteuid()) { submitReopening() }
    }

    /// Closes the store and opens what is at its path then. Does not block: also for the watch
    /// thread. Does nothing while the store is being opened.
    func reopenLater() {
        if state.beginOpening() { submitReopening() }
    }

    private func submitReopening() {
        environment.pool.submit(for: owner) { [self] isActive in
            if isActive { marked { reopen() } } else { state.abandonOpening() }
        }
    }

    /// Opens the store again if its `-shm` was truncated while it was mapped.
    ///
    /// - Returns: whether it was.
    func reopenIfTruncated() -> Bool {
        guard let store = try? store(), (try? store.walIndex())??.isTruncated == true else {
            return false
        }
        logOnce("another program truncated \(path)-shm: the store is opened again")
        reopenLater()
        return true
    }

    /// Runs `body` while no connection of this process has the file open, then opens it.
    /// Subscriptions stay, and go on with what they missed.
    ///
    /// Tracking reads the file's header with a descriptor of its own; closing that would drop the
    /// locks of every connection of the process (https://www.sqlite.org/howtocorrupt.html, 2.2).
    ///
    /// - Throws: what `body` throws: the store is then opened again if it was open, and stays as it
    ///   was otherwise; `busy` while it is being opened.
    func whileClosed<Result>(_ body: () throws -> Result) throws -> Result {
        guard state.beginOpening() else { throw isBeingOpened }
        return try marked { try withTurn(body, after: openNow) }
    }

    /// Runs `body` as ``whileClosed(_:)`` does, then closes for good: subscriptions end with
    /// `error`, unless `body` throws.
    ///
    /// - Throws: as ``whileClosed(_:)``; waits for a while where the store is being opened.
    func close<Result>(_ error: SyncError, after body: () throws -> Result) throws -> Result {
        var attempts = 0
        while !state.beginOpening() {
            attempts += 1
            guard attempts < Self.turnAttemptsMax else { throw isBeingOpened }
            usleep(10_000)
        }
        return try withTurn(body) { close(error) }
    }

    /// Five seconds.
    private static let turnAttemptsMax = 500

    private func withTurn<Result>(
        _ body: () throws -> Result, after finish: () -> Void
    ) throws -> Result {
        let departure = closeForReopening()
        do {
            let result = try body()
            finish()
            return result
        } catch {
            if case .left = departure { openNow() } else { state.abandonOpening() }
            throw error
        }
    }

    /// Closes for good. Subscriptions end with `error`.
    func close(_ error: SyncError) {
        let (opened, subscribers) = state.close()
        for subscriber in subscribers { subscriber.stream.fail(error.varlinkError) }
        if let opened { shut(opened) }
    }

    /// A store that cannot be opened because only a part of it is left can still be untracked.
    ///
    /// - Throws: ``SyncError``: why it cannot be opened, for every other reason.
    func requireRemains() throws {
        do {
            _ = try store()
        } catch let error as SyncError
            where [.storeDamaged, .cannotTrack].contains(error.code)
        {
        }
    }

    // MARK: With the turn

    private func reopen() {
        if case .closed = closeForReopening() { return }
        openNow()
    }

    /// Closes what is open. The caller has the turn.
    func closeForReopening() -> StoreLifecycle.Departure {
        let departure = state.leave()
        if case .left(let opened) = departure { shut(opened) }
        return departure
    }

    private func shut(_ opened: OpenedStore) {
        // The watch first: it reads memory that the connection has mapped.
        opened.watcher.remove(opened.watch)
        environment.replication.post(about: path) { $0 = .init(isClosed: true) }
        // What is opened next may be another history: its commits come after the notice about it.
        state.pauseLive()
        repairing.withLock { _ in
            do {
                if FileIdentity(path: path) == opened.file {
                    let isForsaken = opened.store.isForsaken
                    if isForsaken { waitForOthers(of: opened) }
                    try opened.store.close()
                    if isForsaken { usleep(Self.removalPause) }
                } else {
                    try closeMoved(opened)
                }
            } catch {
                log.warning("closing: \(SyncError.known(error).sentence)")
            }
        }
    }

    private static let emptyingAttemptsMax = 100
    /// In microseconds. Who removes the -wal removes the -shm next, or the other way round: a
    /// connection that is opened between the two would have one of them, and programs another, and
    /// SQLite would lose what they commit.
    private static let removalPause: UInt32 = 250_000

    /// The replicator may be at work, mostly for some milliseconds; the database is not opened
    /// again before it ends (``SideFiles``).
    private func waitForOthers(of opened: OpenedStore) {
        for _ in 0..<Self.emptyingAttemptsMax where opened.store.isOpenElsewhere { usleep(10_000) }
    }

    private func closeMoved(_ opened: OpenedStore) throws {
        for _ in 0..<Self.emptyingAttemptsMax {
            if try !opened.store.isOpenElsewhere && opened.store.emptyWal() { break }
            // The replicator may be at work, mostly for some milliseconds. The file at the path
            // cannot be opened before it ends (``OpenFile``).
            usleep(10_000)
        }
        if try !opened.store.closeMoved() {
            log.warning(
                "another program has the former file open: its -wal is beside the one at the path")
        }
    }

    private func openNow() {
        let start = ContinuousClock.now
        do {
            try openWhatIsThere()
            succeeded(.opening)
        } catch {
            let error = reasonNotToOpen(error)
            judgeFailure(of: .opening, with: error, after: .now - start)
            let isElsewhere = environment.isElsewhere(path)
            let wasOpen = state.failOpening(
                error.code == .noSuchFile ? .missing : .failed(error), path: path,
                isTold: !isElsewhere)
            logOnce(error.sentence)
            if wasOpen, !isElsewhere {
                switch error.code {
                case .noSuchFile: log.notice("the file is gone; its subscribers wait for it")
                case .notTracked: log.notice("it is no longer a tracked store")
                default: log.notice("its subscribers wait until it can be opened again")
                }
            }
        }
    }

    /// What keeps the store from being opened: a folder that may no longer be searched is named.
    private func reasonNotToOpen(_ error: any Error) -> SyncError {
        let error = error as? SyncError ?? SyncError(.internalFault, "\(error)", path: path)
        guard error.code == .notAllowed else { return error }
        return PathBarrier(before: path)?.error(about: path) ?? error
    }

    /// A file that is replaced while it is being opened is left, and the one in its place opened.
    private func openWhatIsThere() throws {
        for _ in 1..<Self.openingAttemptsMax {
            do {
                return try tryOpening()
            } catch let error as SyncError where error.code == .storeReplaced {
                log.info("\(error.reason): opening it again")
                usleep(Self.removalPause)
            }
        }
        try tryOpening()
    }

    private static let openingAttemptsMax = 5

    private func tryOpening() throws {
        environment.onOpening?(path)
        state.forgetTroubles()
        let configured = entry
        try trackIfMissing()
        let refusal = adjustToConfiguration()
        let (store, journal) = try openContinuing()
        try store.record(in: journal)
        var failure: SyncError?
        do {
            try repair(try store.verifyCapture(), in: store)
        } catch {
            failure = error as? SyncError
            if failure?.code != .storeDamaged { troubled(.repairing, by: error) }
        }
        compareWithConfiguration(store, failure: refusal)
        noteOpened(store)
        // What was committed before is history: only later commits are sent as they happen.
        let look = try? store.poll()
        // The schema may have changed since it was verified; the repair itself changes it, too.
        let isOutdated =
            look?.schemaChanged == true && (try? store.verifyCapture().isEmpty) != true
        let head = try store.head()
        let index = try store.walIndex()
        state.setPace(index == nil ? .rollback : .wal)
        let generation = state.nextGeneration()
        // The first event may come before the store counts as open: a poke afterwards makes up for
        // it.
        let watcher = environment.watchers.watcher(for: owner)
        let watch = watcher.add(path: path, index: index) { [weak self] event in
            self?.handle(event, generation: generation)
        }
        let opened = OpenedStore(
            store: store, watcher: watcher, watch: watch, generation: generation,
            journal: journal)
        // Until the store counts as open, there are no new subscriptions and nothing is
        // distributed.
        let excluded = excluded(from: store.file)
        // Nothing of a file is sent to clients of which it is not known whether they may read it.
        guard FileIdentity(path: path) == store.file else {
            watcher.remove(watch)
            try store.close()
            throw SyncError(
                .storeReplaced, "the file was replaced while it was being opened", path: path,
                hint: "Try again")
        }
        let result = state.finishOpening(opened, head: head, excluding: excluded, path: path)
        guard let result else {
            watcher.remove(watch)
            try store.close()
            return
        }
        for subscriber in excluded { dismiss(subscriber) }
        watcher.poke(watch)
        environment.replication.post(about: path) { [owner] in $0 = .init(isNew: true, owner: owner)
        }
        digestLater()
        log.info("opened", metadata: ["transaction": .string(String(head.number))])
        if result.continuation == .other {
            log.notice("another file is at the path now, or its history began again")
        }
        for subscriber in result.subscribers { CatchUp(subscriber, of: self).start() }
        // More tables were dropped while it was opened.
        if failure?.code == .storeDamaged { repairDroppedTables(of: opened) }
        // The -wal or the -shm was taken away before the watch stood.
        if store.isForsaken { reopenForsaken() }
        if isOutdated || failure?.isTransient == true { schemaChanged(in: opened) }
        // A reload changed the entry meanwhile.
        if !entry.recordsLike(configured) { reopenLater() }
    }

    /// Opens the store, and begins another epoch of it when transactions that subscribers were
    /// given are not in it: an older copy was put in its place (`.restore`, `cp`). A token of them
    /// is then refused, and their numbers are not used for others in the same epoch.
    private func openContinuing() throws -> (Store, BoundaryJournal) {
        let store = try openRepaired()
        let journal = BoundaryJournal(directory: environment.stateDirectory, of: store)
        let newest = try store.newestNumber()
        let isShorter = journal.boundaries.last.map { $0.last > newest } ?? false
        guard try isShorter || state.lastEnd.map({ try !store.continues($0) }) ?? false else {
            return (store, journal)
        }
        log.warning("transactions that were sent are gone: the file was replaced by another copy")
        try store.beginEpoch(after: state.lastEnd?.epoch ?? store.epoch)
        try store.close()
        journal.remove()
        let renewed = try openRepaired()
        return (renewed, BoundaryJournal(directory: environment.stateDirectory, of: renewed))
    }
}
