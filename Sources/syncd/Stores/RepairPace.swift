import NIOCore

/// When triggers are written after another program changed tables. A value, guarded by its
/// ``HubState``.
///
/// Looking at the schema keeps programs from committing for a moment in the rollback modes, and the
/// repair takes the write lock. A program that has read within a transaction and then writes is
/// refused meanwhile, whatever its busy timeout: SQLite does not wait while each of two waits for
/// the other (https://www.sqlite.org/c3ref/busy_handler.html). A program that changes tables is in
/// the middle of its work; so the repair begins after ``quiet`` without a commit, or when it has
/// waited for ``delayMax``. Too short refuses such programs; too long, and more of what they write
/// to the new tables is found by comparison only, as one transaction without an author.
///
/// It does not wait for locks either, because a commit that waits for readers keeps new ones out.
/// It tries again, at last every ``busyDelayMax``: until it succeeds, changes of the table are not
/// recorded one by one. Once it has been due for ``patienceMax`` it waits for the lock as a program
/// with a busy timeout does, since readers that never pause would keep it out permanently; then
/// every ``overdueDelay``, because meanwhile it takes a thread.
struct RepairPace {
    static let quiet: TimeAmount = .milliseconds(200)
    static let delayMax: TimeAmount = .seconds(2)
    static let busyDelay: TimeAmount = .milliseconds(50)
    static let busyDelayMax: TimeAmount = .seconds(1)
    static let patienceMax: TimeAmount = .seconds(10)
    static let overdueDelay: TimeAmount = .seconds(10)

    private var lastCommit: NIODeadline = .distantPast
    /// When the schema changed that was not looked at yet, or not repaired.
    private var dueSince: NIODeadline?
    private var nextBusyDelay = Self.busyDelay
    /// A timer is set.
    private var isScheduled = false

    mutating func noteCommit(at now: NIODeadline) { lastCommit = now }

    /// How long to wait still before the schema is looked at and repaired; nil when it is time.
    mutating func delay(at now: NIODeadline) -> TimeAmount? {
        let due = dueSince ?? now
        dueSince = due
        let quiet = now - lastCommit
        if quiet >= Self.quiet || now - due >= Self.delayMax { return nil }
        return Self.quiet - quiet
    }

    /// The repair found a lock taken: how long to wait before the next attempt.
    mutating func noteBusy(at now: NIODeadline) -> TimeAmount {
        dueSince = dueSince ?? now
        if isOverdue(at: now) { return Self.overdueDelay }
        defer { nextBusyDelay = min(nextBusyDelay * 2, Self.busyDelayMax) }
        return nextBusyDelay
    }

    /// Whether attempts that do not wait for a lock have failed for long.
    func isOverdue(at now: NIODeadline) -> Bool {
        dueSince.map { now - $0 >= Self.patienceMax } ?? false
    }

    /// True when the timer has to be set; the next call is true after ``timerFired()``.
    mutating func schedule() -> Bool {
        defer { isScheduled = true }
        return !isScheduled
    }

    mutating func timerFired() { isScheduled = false }

    /// Nothing is due any more.
    mutating func end() {
        dueSince = nil
        nextBusyDelay = Self.busyDelay
    }
}
