import NIOCore
import SyncClient
import SyncCore
import Synchronization
import Varlink

/// What the threads of one ``StoreHub`` share: the lifecycle of the store, its subscriptions, the
/// times of its digests. Its mutex is private: nothing outside this file holds it, and nothing in
/// this file waits for SQLite or for a client while it does.
///
/// Invariants, each across two of the values:
/// - While the store is not open, or the end of its history is not known, no subscription is live;
///   when it is closed, from ``pauseLive()`` on, because its last commits are still distributed.
/// - A subscription becomes live only here, in ``nextStep(of:)``, when it has everything up to the
///   known end: what is committed later reaches it by ``distribute(_:atOnce:generation:)``.
/// - When a store is opened again, the notices about it are sent in the same step: a subscription
///   that was made since does not get them, and no commit overtakes them.
final class HubState: Sendable {
    private struct Content {
        var lifecycle = StoreLifecycle()
        var fanOut = FanOut()
        var digest = DigestSchedule()
        var repair = RepairPace()
        var trust = StoreTrust()
        var lookPace = LookPace()
        var isComparing = false
        /// When the rows are compared; nil: not known yet.
        var nextComparison: ContinuousClock.Instant?
        /// What fails at present.
        var troubles: [StoreTrouble.Work: StoreTrouble] = [:]
        /// What was last logged of each work since the store was opened.
        var lastFailures: [StoreTrouble.Work: String] = [:]
        /// What was last logged of opening it.
        var lastFailure: String?
        var isReleaseDue = false
        var rest = StoreRest()
        /// How often the file changed.
        var changeCount = 0
        /// Without what ``FanOut`` counts.
        var traffic = StoreOverview.Traffic()
    }

    private let content = Mutex(Content())

    // MARK: Reading

    var lifecycle: StoreLifecycle.State { content.withLock { $0.lifecycle.state } }

    var opened: OpenedStore? { content.withLock { $0.lifecycle.opened } }

    /// The open store, if it is of this generation.
    func opened(of generation: Int) -> OpenedStore? {
        content.withLock { $0.lifecycle.opened(of: generation) }
    }

    /// The last transaction given to the subscribers of the open store, or that of its opening.
    var head: Token? { content.withLock { $0.lifecycle.end?.token } }

    /// The last transaction that subscribers of the store that was open before were given.
    var lastEnd: Token? { content.withLock { $0.lifecycle.lastEnd } }

    var subscribers: [Subscriber] { content.withLock { $0.fanOut.entries.map(\.subscriber) } }

    /// Both as they are at one moment.
    func snapshot() -> (lifecycle: StoreLifecycle.State, subscriberCount: Int) {
        content.withLock { ($0.lifecycle.state, $0.fanOut.entries.count) }
    }

    // MARK: Opening and closing (see StoreLifecycle)

    func beginOpening() -> Bool { content.withLock { $0.lifecycle.beginOpening() } }

    /// As ``beginOpening()``, for a store that is not open, and not before its pause is over.
    func beginRetry(_ path: String, isOwn: Bool) -> Bool {
        content.withLock { content in
            guard case .unavailable = content.lifecycle.state,
                content.trust.mayTry(path, isOwn: isOwn)
            else { return false }
            return content.lifecycle.beginOpening()
        }
    }

    func leave() -> StoreLifecycle.Departure { content.withLock { $0.lifecycle.leave() } }

    func abandonOpening() { content.withLock { $0.lifecycle.abandon() } }

    func nextGeneration() -> Int { content.withLock { $0.lifecycle.nextGeneration() } }

    /// No subscription is live from now on: the store's watch has ended.
    func pauseLive() {
        content.withLock { _ = $0.fanOut.setPhase(.waitingForStore, of: .live) }
    }

    /// The store is open. Its subscribers are notified, but for the `excluded`, which are removed.
    ///
    /// - Returns: nil when the hub was closed meanwhile; else the subscribers that have to catch
    ///   up.
    func finishOpening(
        _ opened: OpenedStore, head: Token, excluding excluded: [Subscriber], path: String
    ) -> (continuation: StoreLifecycle.Continuation, subscribers: [Subscriber])? {
        content.withLock { content in
            guard let continuation = content.lifecycle.finish(opened, end: head) else { return nil }
            content.lastFailure = nil
            for subscriber in excluded { content.fanOut.remove(subscriber) }
            switch continuation {
            case .first, .same(wasAbsent: false): break
            case .same(wasAbsent: true):
                let notice = Notice.storeReturned(path: path, token: head)
                content.fanOut.broadcast(SubscriptionReplies.notice(notice))
            case .other:
                let notice = Notice.storeReplaced(path: path, store: opened.store.id, token: head)
                content.fanOut.broadcast(SubscriptionReplies.notice(notice, token: head))
                content.fanOut.moveAll(to: head)
            }
            return (continuation, content.fanOut.setPhase(.catchingUp, of: .waitingForStore))
        }
    }

    /// The store cannot be opened. If it was open before, its subscribers are notified.
    ///
    /// - Parameter isTold: false: their subscriptions are about to end.
    /// - Returns: whether it was open before.
    func failOpening(
        _ reason: StoreLifecycle.Absence, path: String, isTold: Bool = true
    ) -> Bool {
        content.withLock { content in
            content.troubles = [:]
            guard content.lifecycle.fail(reason) else { return false }
            guard isTold else { return true }
            var why: String?
            if case .failed(let error) = reason { why = error.reason }
            let notice = Notice.storeRemoved(path: path, reason: why)
            content.fanOut.broadcast(SubscriptionReplies.notice(notice))
            return true
        }
    }

    /// Closes for good and forgets all subscriptions.
    ///
    /// - Returns: what the caller has to end.
    func close() -> (opened: OpenedStore?, subscribers: [Subscriber]) {
        content.withLock { content in
            defer { content.fanOut = FanOut() }
            return (content.lifecycle.close(), content.fanOut.entries.map(\.subscriber))
        }
    }

    // MARK: Failures in a row (see StoreTrust)

    /// How the store has done so far.
    var trust: StoreTrust { content.withLock { $0.trust } }

    /// Changes what is thought of the store.
    ///
    /// - Returns: what that changed.
    func judge(_ change: (inout StoreTrust) -> StoreTrust.Turn?) -> StoreTrust.Turn? {
        content.withLock { change(&$0.trust) }
    }

    // MARK: Commits

    /// Gives transactions to the live subscriptions, and moves the end of history there.
    ///
    /// - Parameter start: when the commit was noticed.
    func distribute(
        _ transactions: ArraySlice<Transaction>, atOnce: Bool, generation: Int,
        since start: ContinuousClock.Instant
    ) {
        guard let last = transactions.last else { return }
        content.withLock { content in
            let before = content.fanOut.sentCount
            for transaction in transactions {
                content.fanOut.distribute(transaction, atOnce: atOnce)
            }
            let sent = content.fanOut.sentCount - before
            if sent > 0 { content.traffic.latency.note(.now - start, count: sent) }
            content.lifecycle.advance(to: last.token, generation: generation)
        }
    }

    /// A commit cannot be given to the live subscriptions: all of them read it from history, once
    /// ``findEnd(_:generation:)`` has found its end.
    func loseEnd(generation: Int) {
        content.withLock { content in
            content.lifecycle.loseEnd(generation: generation)
            _ = content.fanOut.setPhase(.waitingForStore, of: .live)
        }
    }

    /// The end of history is known again.
    ///
    /// - Returns: the subscribers that have to catch up.
    func findEnd(_ head: Token, generation: Int) -> [Subscriber] {
        content.withLock { content in
            guard content.lifecycle.find(end: head, generation: generation) else { return [] }
            return content.fanOut.setPhase(.catchingUp, of: .waitingForStore)
        }
    }

    /// Sends a reply about the store to all subscribers.
    func broadcast(_ reply: EncodedReply) { content.withLock { $0.fanOut.broadcast(reply) } }

    // MARK: Subscriptions

    /// Adds a subscription, if the store is still open in the given generation.
    ///
    /// - Returns: the end of history; nil when the store was closed meanwhile.
    func add(_ subscriber: Subscriber, options: SubscriptionOptions, generation: Int) -> Token? {
        content.withLock { content in
            guard content.lifecycle.opened(of: generation) != nil,
                let head = content.lifecycle.end?.token
            else { return nil }
            content.fanOut.add(subscriber, at: options.after ?? head)
            content.fanOut.hold(options.hold.map(\.folded), for: subscriber)
            return head
        }
    }

    func remove(_ subscriber: Subscriber) { content.withLock { $0.fanOut.remove(subscriber) } }

    /// - Parameter heldMax: how many objects it may hold in all.
    /// - Returns: false, and nothing is held, when that would be more than `heldMax`.
    func hold(_ names: [ObjectName], for subscriber: Subscriber, heldMax: Int) -> Bool {
        content.withLock { content in
            guard content.fanOut.heldCount(of: subscriber) + names.count <= heldMax else {
                return false
            }
            content.fanOut.hold(names, for: subscriber)
            return true
        }
    }

    /// - Parameter names: nil: all.
    func release(_ names: [ObjectName]?, for subscriber: Subscriber) {
        content.withLock { $0.fanOut.release(names, for: subscriber) }
    }

    // MARK: Catching up

    /// What a catch-up needs for one page of history.
    struct CatchUpStep {
        let opened: OpenedStore
        /// Of the subscriptions when the page was begun.
        let era: Int
        let position: Token
        /// In the first transaction after `position`.
        let inside: PartPosition?
        let end: Token
        let isHolding: Bool
    }

    /// The next page of a subscription that catches up; nil when it is live from now on, waits for
    /// the store, or is in another's hands.
    func nextStep(of subscriber: Subscriber) -> CatchUpStep? {
        content.withLock { content in
            guard let entry = content.fanOut.entry(of: subscriber), entry.phase == .catchingUp
            else { return nil }
            guard let opened = content.lifecycle.opened,
                case .known(let end)? = content.lifecycle.end
            else {
                content.fanOut.setPhase(.waitingForStore, for: subscriber)
                return nil
            }
            if entry.position.number >= end.number {
                content.fanOut.setPhase(.live, for: subscriber)
                return nil
            }
            return CatchUpStep(
                opened: opened, era: content.fanOut.era, position: entry.position,
                inside: entry.inside, end: end, isHolding: !entry.held.isEmpty)
        }
    }

    /// What a subscription that catches up gets of a transaction; nil: nothing.
    func reply(
        to subscriber: Subscriber, about transaction: Transaction, era: Int
    ) -> EncodedReply? {
        content.withLock { $0.fanOut.catchUpReply(to: subscriber, about: transaction, era: era) }
    }

    /// A subscription that catches up took a transaction, or a part of one.
    ///
    /// - Parameter isSent: there was something for its client.
    func advance(
        _ subscriber: Subscriber, past transaction: Transaction, isSent: Bool, era: Int
    ) {
        content.withLock { content in
            guard content.fanOut.era == era else { return }
            content.fanOut.advance(subscriber, past: transaction, isSent: isSent)
        }
    }

    /// A subscription that catches up has everything up to `token`.
    ///
    /// - Parameter isSent: its client was sent the token.
    func advance(_ subscriber: Subscriber, to token: Token, isSent: Bool, era: Int) {
        content.withLock { content in
            guard content.fanOut.era == era else { return }
            content.fanOut.advance(subscriber, to: token, isSent: isSent)
        }
    }

    /// A catch-up cannot read the store of this generation.
    ///
    /// - Returns: false when the catch-up is to go on with the store that is open by now.
    func waitForStore(_ subscriber: Subscriber, generation: Int) -> Bool {
        content.withLock { content in
            guard content.fanOut.entry(of: subscriber) != nil else { return false }
            if let opened = content.lifecycle.opened, opened.generation != generation {
                return false
            }
            content.fanOut.setPhase(.waitingForStore, for: subscriber)
            return true
        }
    }

    /// A catch-up found its client's queue full.
    ///
    /// - Returns: false when the client has emptied it since, and the catch-up is to go on.
    func waitForDrain(_ subscriber: Subscriber) -> Bool {
        content.withLock { content in
            guard let entry = content.fanOut.entry(of: subscriber) else { return true }
            if entry.hasDrained { return false }
            if entry.phase == .catchingUp { content.fanOut.setPhase(.draining, for: subscriber) }
            return true
        }
    }

    /// The client has emptied its queue.
    ///
    /// - Returns: where it lagged, if it did.
    func noteDrained(_ subscriber: Subscriber) -> Token? {
        content.withLock { content in
            content.fanOut.setDrained(true, for: subscriber)
            guard let entry = content.fanOut.entry(of: subscriber), entry.phase == .lagging else {
                return nil
            }
            return entry.position
        }
    }

    /// Sends a subscription that waited for its client to history.
    ///
    /// - Returns: whether it waited, and has to catch up.
    func resumeDrained(_ subscriber: Subscriber) -> Bool {
        content.withLock { content in
            guard let phase = content.fanOut.entry(of: subscriber)?.phase,
                phase == .draining || phase == .lagging
            else { return false }
            content.fanOut.setPhase(.catchingUp, for: subscriber)
            return true
        }
    }

    // MARK: Digests and failures

    /// Notes a commit; true when the digest's timer has to be set.
    func noteActivity(isAwaited: Bool) -> Bool {
        content.withLock { content in
            let number = content.lifecycle.end?.token.number ?? 0
            return content.digest.noteActivity(
                at: .now(), number: number, isAwaited: isAwaited)
        }
    }

    /// How long the digest has to wait still; nil when it is time. Subscribers for whom there was
    /// nothing learn their positions meanwhile.
    func digestDelay() -> TimeAmount? {
        content.withLock { content in
            let delay = content.digest.delay(at: .now())
            if delay != nil { content.fanOut.sendPositions() }
            return delay
        }
    }

    /// A digest found a lock taken: how long to wait before the next one.
    func digestBusyDelay() -> TimeAmount {
        content.withLock { $0.digest.noteBusy(at: .now()) }
    }

    /// Whether digests have found locks taken for so long that somebody has to look.
    var isDigestOverdue: Bool { content.withLock { $0.digest.isOverdue(at: .now()) } }

    /// The store is in a rollback mode or in WAL mode by now.
    func setPace(_ pace: DigestSchedule.Pace) { content.withLock { $0.digest.pace = pace } }

    /// No digest is under way any more.
    func endDigest() { content.withLock { $0.digest.end() } }

    /// The log is digested: subscribers for whom there was nothing learn their positions.
    ///
    /// - Returns: whether the store is idle.
    func finishDigest() -> Bool {
        content.withLock { content in
            content.digest.end()
            content.fanOut.sendPositions()
            return content.digest.isQuiet(at: .now())
        }
    }

    /// Whether there was no commit for a while.
    var isQuiet: Bool { content.withLock { $0.digest.isQuiet(at: .now()) } }

    /// Notes that the file changed, with or without transactions in the log.
    func noteCommit() {
        content.withLock { content in
            content.repair.noteCommit(at: .now())
            content.changeCount += 1
        }
    }

    /// Notes a change of this process, which the watch may not report.
    func noteOwnChange() { content.withLock { $0.changeCount += 1 } }

    /// How often the file changed, as far as that was noticed.
    var changeCount: Int { content.withLock { $0.changeCount } }

    /// What was sent, and what failed.
    var traffic: StoreOverview.Traffic {
        content.withLock { content in
            var traffic = content.traffic
            traffic.notices = content.fanOut.sentCount
            traffic.lagged = content.fanOut.laggedCount
            return traffic
        }
    }

    // MARK: What fails

    /// What fails at present, in a stable order.
    var troubles: [StoreTrouble] {
        content.withLock { content in
            StoreTrouble.Work.allCases.compactMap { content.troubles[$0] }
        }
    }

    /// Notes that work on the open store failed, until ``recovered(_:)``.
    ///
    /// - Returns: whether that is new: another reason than the one that was noted last.
    func noteTrouble(_ work: StoreTrouble.Work, reason: String, hint: String?) -> Bool {
        content.withLock { content in
            content.troubles[work] = StoreTrouble(
                work, reason: reason, hint: hint,
                since: content.troubles[work]?.since ?? .now())
            defer { content.lastFailures[work] = reason }
            return content.lastFailures[work] != reason
        }
    }

    /// Work on the store succeeded. Cheap: the live path calls it.
    func recovered(_ works: [StoreTrouble.Work]) {
        content.withLock { content in
            if content.troubles.isEmpty { return }
            for work in works { content.troubles[work] = nil }
        }
    }

    /// The store is being opened: what failed before says nothing of it.
    func forgetTroubles() {
        content.withLock { content in
            content.troubles = [:]
            content.lastFailures = [:]
        }
    }

    /// Counts a failure of work on the store.
    func noteError(_ message: String) {
        content.withLock { content in
            content.traffic.errors += 1
            content.traffic.lastError = message
            content.traffic.lastErrorTime = .now()
        }
    }

    /// How long a repair that is due has to wait still; nil when it is time.
    func repairDelay() -> TimeAmount? { content.withLock { $0.repair.delay(at: .now()) } }

    /// A repair found a lock taken: how long to wait before the next attempt.
    func repairBusyDelay() -> TimeAmount { content.withLock { $0.repair.noteBusy(at: .now()) } }

    /// Whether a repair has found locks taken for so long that the next attempt waits for them.
    var isRepairOverdue: Bool { content.withLock { $0.repair.isOverdue(at: .now()) } }

    /// True when the timer of the repair has to be set.
    func scheduleRepair() -> Bool { content.withLock { $0.repair.schedule() } }

    /// The timer of the repair fired: it can be set again.
    func repairTimerFired() { content.withLock { $0.repair.timerFired() } }

    /// No repair is due any more.
    func endRepair() { content.withLock { $0.repair.end() } }

    /// Takes the turn to compare all rows, which ``endComparison(next:)`` ends.
    ///
    /// - Returns: false when it is not time, or another caller has the turn.
    func beginComparison() -> Bool {
        content.withLock { content in
            let isDue = content.nextComparison.map { $0 <= .now } ?? true
            guard isDue, !content.isComparing else { return false }
            content.isComparing = true
            return true
        }
    }

    /// Ends the turn; the next comparison is due after `pause`.
    func endComparison(next pause: Duration) {
        content.withLock { content in
            content.isComparing = false
            content.nextComparison = .now + pause
        }
    }

    /// Whether a rest is not to be put off.
    var mayRest: Bool { content.withLock { $0.rest.mayBegin(at: .now) } }

    /// The store is about to rest, unless it has work; ``endRest()`` takes that back.
    func beginRest(of generation: Int) -> Bool {
        content.withLock { content in
            guard content.lifecycle.opened(of: generation) != nil, !content.isComparing,
                !content.digest.isScheduled
            else { return false }
            return content.rest.begin(of: generation, at: .now)
        }
    }

    /// The store could not rest: it is tried again after a pause.
    func refuseRest() { content.withLock { $0.rest.refuse(at: .now) } }

    /// Whether a commit of this generation has to end a rest before it is read.
    func isResting(_ generation: Int) -> Bool {
        content.withLock { $0.rest.generation == generation }
    }

    /// The turn to wake a resting store, which ``endRest()`` ends; false when another has it.
    func beginWaking() -> Bool { content.withLock { $0.rest.beginWaking() } }

    /// The store could not be woken: the next event tries again.
    func failWaking() { content.withLock { $0.rest.isWaking = false } }

    /// The store is followed again.
    func endRest() { content.withLock { $0.rest.end() } }

    /// A writer disturbed a look at the store: how long to wait before the next one.
    func nextLook() -> Duration { content.withLock { $0.lookPace.next() } }

    /// Notes work on a large transaction; true when the release of memory has to be scheduled.
    func noteLargeWork() -> Bool {
        content.withLock { content in
            defer { content.isReleaseDue = true }
            return !content.isReleaseDue
        }
    }

    /// Memory can be released, and the next large work schedules it again.
    ///
    /// - Returns: false while a digest is under way, which takes memory itself.
    func beginRelease() -> Bool {
        content.withLock { content in
            guard !content.digest.isScheduled else { return false }
            content.isReleaseDue = false
            return true
        }
    }

    /// Keeps a failure's text; false when it is that of the failure before.
    func isNewFailure(_ message: String) -> Bool {
        content.withLock { content in
            defer { content.lastFailure = message }
            return content.lastFailure != message
        }
    }
}
