import NIOCore
import SyncCore
import SyncReplica

/// Moving the log into the history tables, and purging these. Blocks: on the pool.
extension StoreHub {
    /// Has a digest run when the store is quiet. Cheap: the live path calls it.
    ///
    /// - Parameter isAwaited: subscribers wait for it.
    func digestLater(isAwaited: Bool = false) {
        if state.noteActivity(isAwaited: isAwaited) { setDigestTimer(state.digestDelay() ?? .zero) }
    }

    private func setDigestTimer(_ delay: TimeAmount) {
        environment.loop.scheduleTask(in: delay) { [weak self] in
            // The lock of a store with many subscriptions is not for the event loop.
            self?.submit { [weak self] in self?.digestTimerFired() }
        }
    }

    private func digestTimerFired() {
        if let delay = state.digestDelay() { return setDigestTimer(delay) }
        digestNow()
    }

    private func digestNow() {
        guard let opened = state.opened else { return state.endDigest() }
        // Read before the digest: the history tables hold at least this much after it.
        let last = state.head?.number ?? 0
        let start = ContinuousClock.now
        do {
            let isLeft = try opened.store.digest(budget: DigestSchedule.budget, isRepeated: true)
            state.noteOwnChange()
            if isLeft {
                return setDigestTimer(DigestSchedule.pause)
            }
            opened.journal.forget(upTo: last)
            noteUnreadable(opened.store)
            if state.finishDigest() { try opened.store.emptyWal() }
            state.recovered([.digesting])
            succeeded(.reading, .digesting)
        } catch let error as SyncError where error.isTransient {
            let delay = state.digestBusyDelay()
            // A lock is free again soon, mostly. A disk that is full stays so until somebody acts.
            if error.code != .busy || state.isDigestOverdue { troubled(.digesting, by: error) }
            setDigestTimer(delay)
        } catch let error as SyncError where error.code == .storeDamaged {
            state.endDigest()
            repairDroppedTables(of: opened)
        } catch let error as SyncError where error.code == .storeReplaced {
            state.endDigest()
            readFailed(error, of: opened)
        } catch {
            state.endDigest()
            troubled(.digesting, by: error)
            failed(.digesting, of: opened, with: error as? SyncError, after: .now - start)
        }
    }

    /// Names the tables whose rows SQLite cannot read in this process.
    private func noteUnreadable(_ store: Store) {
        // One that rests was not looked at.
        guard !store.isResting,
            let findings = try? store.unreadableTables(thoroughly: false)
        else { return }
        if findings.isEmpty { return state.recovered([.unreadable]) }
        troubled(
            .unreadable, reason: findings.map(\.explanation).joined(separator: "; "),
            hint: CaptureFinding.unreadableHint)
    }

    /// Digests what waits for a quiet moment, before the store is closed for good: who reads the
    /// file afterwards finds the transactions as subscribers were sent them. What a writer is in
    /// the way of stays in the log.
    func digestRest(until end: ContinuousClock.Instant) {
        guard let store = state.opened?.store else { return }
        while .now < end {
            let isLeft = try? store.digest(budget: DigestSchedule.budget, isRepeated: true)
            if isLeft != true { return }
        }
    }

    /// Purges what is beyond the limits.
    func purge(beyond limits: HistoryLimits) {
        guard !limits.isEmpty, let opened = state.opened else { return }
        do {
            try record(in: opened.store)
            let report = try opened.store.purge(beyond: limits)
            state.recovered([.purging])
            guard report.transactions > 0 else { return }
            log.info("purged \(report.transactions) transactions beyond the limits")
            try tellPurged(opened.store)
        } catch {
            troubled(.purging, by: error)
        }
    }

    /// Purges, and notifies the subscribers.
    ///
    /// - Parameter store: as the caller was checked for it.
    /// - Returns: what was purged, and the oldest position that still works.
    /// - Throws: ``SyncError``, as ``Store/purge(before:force:)`` does.
    func purge(
        _ store: Store, before: Token?, force: Bool
    ) throws -> (report: PurgeReport, oldest: Token) {
        try record(in: store)
        let report = try store.purge(before: before, force: force)
        let oldest =
            report.transactions > 0 ? try tellPurged(store) : try Self.oldest(of: store)
        return (report, oldest)
    }

    /// Records for other replicas what history alone has: a purge leaves that.
    private func record(in store: Store) throws {
        guard try store.hasUnrecordedChanges() else { return }
        let replica = try StoreReplica(path, isResolved: true)
        defer { try? replica.close() }
        try replica.recordChanges()
    }

    /// Tells the subscribers where the history begins now.
    @discardableResult
    private func tellPurged(_ store: Store) throws -> Token {
        let oldest = try Self.oldest(of: store)
        state.broadcast(SubscriptionReplies.notice(.historyPurged(oldest)))
        return oldest
    }

    private static func oldest(of store: Store) throws -> Token {
        try store.firstToken(matching: HistoryQuery()) ?? store.head()
    }
}
