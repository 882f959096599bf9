import NIOPosix
import SyncClient
import SyncCore
import Varlink

/// Opening, and opening again when the file was removed or replaced. Everything here blocks: on the
/// pool, or before the daemon serves.
extension StoreHub {
    /// Opens the store; a failure is kept, logged once and tried again by ``retry()``.
    func open() {
        do {
            try openNow()
        } catch let error as SyncError {
            state.withLock { state in
                state.phase = error.code == .noSuchFile ? .missing : .failed(error)
            }
            logOnce(error.description)
        } catch {
            state.withLock { $0.phase = .failed(SyncError(.internalFault, "\(error)", path: path)) }
        }
    }

    /// Opens what could not be opened before, if its file is there.
    func retry() {
        guard !isOpen, FileIdentity(path: path) != nil,
            state.withLock({ $0.retryPace.mayTry(path) })
        else { return }
        reopen()
    }

    /// Closes for good. Subscriptions end with `error`.
    func close(_ error: SyncError) {
        let (phase, entries) = state.withLock { state in
            defer {
                state.phase = .closed
                state.fanOut = FanOut()
            }
            return (state.phase, state.fanOut.entries)
        }
        for entry in entries { entry.subscriber.stream.fail(error.varlinkError) }
        if case .open(let opened) = phase { shut(opened) }
    }

    /// A store that cannot be opened because only a rest of it is left can still be untracked.
    ///
    /// - Throws: ``SyncError``: why it cannot be opened, when that is the reason.
    func requireRemains() throws {
        do {
            _ = try store()
        } catch let error as SyncError
            where [.storeDamaged, .cannotTrack].contains(error.code)
        {
        }
    }

    /// From the watch thread, which must not wait for it.
    func reopenLater() {
        let mayStart = state.withLock { state in
            defer { state.isReopening = true }
            return !state.isReopening
        }
        guard mayStart else { return }
        environment.pool.submit { [self] poolState in
            if poolState == .active { reopen() }
            state.withLock { $0.isReopening = false }
        }
    }

    private func shut(_ opened: Opened) {
        // The watch first: it reads memory that the connection has mapped.
        environment.watcher.remove(opened.watch)
        environment.replication.tell(path) { $0 = .init(isClosed: true) }
        // What is opened next may be another history: nobody hears of its commits before they are
        // told so.
        state.withLock { _ = $0.fanOut.setPhase(.waitingForStore, of: .live) }
        do { try opened.store.close() } catch { log.warning("closing: \(error)") }
    }

    private func openNow() throws {
        if entry.track { try trackWhereMissing() }
        let store = try openMended()
        let journal = BoundaryJournal(directory: environment.stateDirectory, store)
        try store.adopt(journal.boundaries) { journal.append($0) }
        var isDamaged = false
        do {
            try repair(store, try store.verifyCapture())
        } catch {
            isDamaged = (error as? SyncError)?.code == .storeDamaged
            if !isDamaged { logOnce("schema: \(error)") }
        }
        // What was committed before is history: only what comes from now on is told as it happens.
        _ = try? store.look()
        let head = try store.head()
        let generation = state.withLock { state in
            state.generation += 1
            return state.generation
        }
        let index = try store.walIndex()
        // The first event may come before `phase` is set: a poke afterwards makes up for it.
        let watch = environment.watcher.add(path: path, index: index) { [weak self] event in
            self?.handle(event, generation)
        }
        // Before the phase is `open` nobody subscribes and nothing is distributed.
        let excluded = state.withLock { $0.fanOut.entries.map(\.subscriber) }
            .filter { !mayRead(store.file, $0) }
        let isWanted = state.withLock { state in
            if case .closed = state.phase { return false }
            for subscriber in excluded { state.fanOut.remove(subscriber) }
            state.phase = .open(
                Opened(store: store, watch: watch, generation: generation, journal: journal))
            state.head = head
            state.isHeadKnown = true
            state.lastIdentity = store.file
            state.lastEra = StoreEra(store)
            state.lastFailure = nil
            return true
        }
        for subscriber in excluded { dismiss(subscriber) }
        guard isWanted else {
            environment.watcher.remove(watch)
            try store.close()
            return
        }
        environment.watcher.poke(watch)
        environment.replication.tell(path) { $0 = .init(isNew: true) }
        digestLater()
        log.info("opened", metadata: ["transaction": .string(String(head.number))])
        // More tables went while it was opened.
        if isDamaged, let opened = try? opened() { tablesDropped(opened) }
    }

    /// Whether a subscriber could open the file that is open here, and it is at the path.
    private func mayRead(_ file: FileIdentity, _ subscriber: Subscriber) -> Bool {
        Access.file(.read, path, subscriber.stream.peer) == file
    }

    /// Ends a subscription whose client may not read the store: as if there were none.
    private func dismiss(_ subscriber: Subscriber) {
        let error = SyncError(
            .unknownStore,
            "the file at the path may not be read by uid \(subscriber.stream.peer.uid)",
            path: path, hint: "Ask its owner for read permission, then subscribe again")
        subscriber.stream.fail(error.varlinkError)
    }

    /// Ends the subscriptions of those who could not open the file any more. Blocks: on the pool.
    func dismissExcluded() {
        guard let opened = try? opened(), FileIdentity(path: path) == opened.identity else {
            return
        }
        let excluded = state.withLock { $0.fanOut.entries.map(\.subscriber) }
            .filter { !mayRead(opened.identity, $0) }
        // A file that is replaced meanwhile is checked when it is opened.
        guard FileIdentity(path: path) == opened.identity else { return }
        for subscriber in excluded {
            remove(subscriber)
            dismiss(subscriber)
        }
    }

    private func trackWhereMissing() throws {
        do {
            try Store.open(path, isResolved: true).close()
        } catch let error as SyncError where error.code == .notTracked {
            _ = try Store.track(path, entry.captureChoice)
        } catch let error as SyncError where error.code == .storeDamaged {
            // Opening repairs it.
        }
    }

    /// Whoever drops tables one by one may go on while the store is repaired.
    private static let mendingsMax = 3

    /// Opens the store, and makes it one again first where another program dropped tables of it:
    /// every writer is refused until then.
    private func openMended() throws -> Store {
        for _ in 0..<Self.mendingsMax {
            do {
                return try Store.open(path, isResolved: true)
            } catch let error as SyncError where error.code == .storeDamaged {
                let report = try Store.mend(path, isResolved: true)
                for line in report.explanations { log.warning("repaired: \(line)") }
                if report.recoveredCount > 0 {
                    log.notice("recorded \(report.recoveredCount) changes that were made meanwhile")
                }
            }
        }
        return try Store.open(path, isResolved: true)
    }

    /// Runs `body` while no connection of this process has the file open, then opens it.
    /// Subscriptions stay, and go on with what they missed.
    ///
    /// Tracking reads the file's header with a descriptor of its own; closing that would drop the
    /// locks of every connection of the process (https://www.sqlite.org/howtocorrupt.html, 2.2).
    func whileClosed<Result>(_ body: () throws -> Result) throws -> Result {
        let mayStart = state.withLock { state in
            defer { state.isReopening = true }
            return !state.isReopening
        }
        guard mayStart else {
            throw SyncError(
                .busy, "the store is being opened", path: path, hint: "Try again in a moment")
        }
        defer { state.withLock { $0.isReopening = false } }
        let before = state.withLock { state in
            defer {
                if case .open = state.phase { state.phase = .opening }
            }
            return state.phase
        }
        guard case .open(let opened) = before else {
            let result = try body()
            open()
            return result
        }
        shut(opened)
        defer {
            open()
            if let again = try? self.opened() {
                let isSame = again.identity == opened.identity && again.era == opened.era
                tellReturn(again, isSame: isSame, wasOpen: true)
            } else {
                tellRemoval()
            }
        }
        return try body()
    }

    /// Closes the store and opens what is at its path now; tells the subscribers what became of it.
    func reopen() {
        let before = state.withLock {
            state -> (phase: Phase, identity: FileIdentity?, era: StoreEra?) in
            defer {
                if case .open = state.phase { state.phase = .opening }
            }
            return (state.phase, state.lastIdentity, state.lastEra)
        }
        if case .closed = before.phase { return }
        var wasOpen = false
        if case .open(let opened) = before.phase {
            wasOpen = true
            shut(opened)
        }
        open()
        switch state.withLock({ $0.phase }) {
        case .open(let opened):
            let isSame = opened.identity == before.identity && opened.era == before.era
            tellReturn(opened, isSame: isSame, wasOpen: wasOpen)
        case .missing, .failed:
            if wasOpen { tellRemoval() }
        case .opening, .closed: break
        }
    }

    private func tellRemoval() {
        log.notice("the file is gone, or is no store any more")
        let reply = SubscriptionReplies.notice(.storeRemoved(path: path))
        state.withLock { state in
            state.fanOut.tellAll(reply)
            _ = state.fanOut.setPhase(.waitingForStore, of: .live)
        }
    }

    /// The same file with the same history: streams go on from where they are. Another one: they
    /// begin at its end.
    private func tellReturn(_ opened: Opened, isSame: Bool, wasOpen: Bool) {
        let store = opened.store
        let subscribers = state.withLock { state -> [Subscriber] in
            guard let head = state.head else { return [] }
            if isSame {
                if !wasOpen {
                    let notice = Notice.storeReturned(path: path, token: head)
                    state.fanOut.tellAll(SubscriptionReplies.notice(notice))
                }
            } else {
                let notice = Notice.storeReplaced(path: path, store: store.id, token: head)
                state.fanOut.tellAll(SubscriptionReplies.notice(notice, token: head))
                state.fanOut.moveAll(to: head)
            }
            return state.fanOut.setPhase(.catchingUp, of: .live)
                + state.fanOut.setPhase(.catchingUp, of: .waitingForStore)
        }
        if !isSame { log.notice("another file is at the path now, or its history began again") }
        for subscriber in subscribers { CatchUp(self, subscriber).start() }
    }
}
