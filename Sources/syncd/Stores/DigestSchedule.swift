import NIOCore
import SyncCore

/// When a store's log is moved into its history tables.
///
/// After ``quiet`` without a commit, so that a burst is not disturbed: a digest takes the write
/// lock for some milliseconds. Too short makes bursts wait for it; too long lets the log grow, and
/// queries that have to put its rows together get slower. A burst that does not end is interrupted
/// after ``delayMax``.
struct DigestSchedule {
    static let quiet: TimeAmount = .milliseconds(200)
    static let delayMax: TimeAmount = .seconds(2)
    /// A writer held the lock.
    static let busyDelay: TimeAmount = .milliseconds(500)
    /// One stretch of work; writers and notices get their turn in between.
    static let budget: Duration = .milliseconds(5)
    static let pause: TimeAmount = .milliseconds(5)

    /// A digest is under way or its timer is set.
    var isScheduled = false
    var lastActivity = NIODeadline.now()
    var firstActivity = NIODeadline.now()

    /// Notes a commit; true when the timer has to be set.
    mutating func noteActivity() -> Bool {
        lastActivity = .now()
        if isScheduled { return false }
        firstActivity = lastActivity
        isScheduled = true
        return true
    }

    /// How long to wait still, or nil when it is time.
    func delay(at now: NIODeadline) -> TimeAmount? {
        if now - firstActivity >= Self.delayMax || now - lastActivity >= Self.quiet { return nil }
        return Self.quiet - (now - lastActivity)
    }
}

extension StoreHub {
    /// Sees to it that a digest runs when the store is quiet. Cheap: the live path calls it.
    func digestLater() {
        if state.withLock({ $0.digest.noteActivity() }) { setTimer(DigestSchedule.quiet) }
    }

    private func setTimer(_ delay: TimeAmount) {
        environment.loop.scheduleTask(in: delay) { [weak self] in self?.timerFired() }
    }

    private func timerFired() {
        if let delay = state.withLock({ $0.digest.delay(at: .now()) }) {
            setTimer(delay)
            return
        }
        environment.pool.submit { [weak self] poolState in
            if poolState == .active { self?.digestNow() }
        }
    }

    private func digestNow() {
        guard let opened = try? opened() else {
            state.withLock { $0.digest.isScheduled = false }
            return
        }
        let told = state.withLock { $0.head?.number ?? 0 }
        do {
            if try opened.store.digest(budget: DigestSchedule.budget) {
                setTimer(DigestSchedule.pause)
                return
            }
            opened.journal.forget(upTo: told)
            let isIdle = state.withLock { state in
                state.digest.isScheduled = false
                state.fanOut.tellPositions()
                return NIODeadline.now() - state.digest.lastActivity >= DigestSchedule.quiet
            }
            if isIdle { try opened.store.checkpoint() }
        } catch let error as SyncError where error.isTransient {
            setTimer(DigestSchedule.busyDelay)
        } catch let error as SyncError where error.code == .storeDamaged {
            state.withLock { $0.digest.isScheduled = false }
            tablesDropped(opened)
        } catch {
            state.withLock { $0.digest.isScheduled = false }
            logOnce("digest: \(error)")
        }
    }
}

extension StoreHub {
    /// Purges what is beyond the limits. Blocks: on the pool.
    func purge(beyond limits: HistoryLimits) {
        guard !limits.isEmpty, let store = try? store() else { return }
        do {
            let report = try store.purge(beyond: limits)
            if report.transactions > 0 {
                log.info("purged \(report.transactions) transactions beyond the limits")
            }
        } catch {
            logOnce("purge: \(error)")
        }
    }
}
