import NIOCore

/// When a store's log is moved into its history tables. A value, guarded by its ``HubState``.
///
/// After ``quiet`` without a commit, so that a burst is not disturbed: a digest takes the write
/// lock for some milliseconds. Too short makes bursts wait for it; too long lets the log grow, and
/// queries that have to put its rows together get slower. A burst that does not end is interrupted
/// after ``delayMax``.
struct DigestSchedule {
    static let quiet: TimeAmount = .milliseconds(200)
    static let delayMax: TimeAmount = .seconds(2)
    /// After a digest that found the write lock taken.
    static let busyDelay: TimeAmount = .milliseconds(500)
    /// One stretch of work; writers and notices get their turn in between.
    static let budget: Duration = .milliseconds(5)
    static let pause: TimeAmount = .milliseconds(5)

    /// A digest is under way or its timer is set.
    private var isScheduled = false
    private var lastActivity: NIODeadline = .distantPast
    /// The first commit since the last digest.
    private var firstActivity: NIODeadline = .distantPast

    /// Notes a commit; true when the timer has to be set.
    mutating func noteActivity(at now: NIODeadline) -> Bool {
        lastActivity = now
        if isScheduled { return false }
        firstActivity = now
        isScheduled = true
        return true
    }

    /// How long to wait still; nil when it is time.
    func delay(at now: NIODeadline) -> TimeAmount? {
        if now - firstActivity >= Self.delayMax || isQuiet(at: now) { return nil }
        return Self.quiet - (now - lastActivity)
    }

    /// Whether there was no commit for a while.
    func isQuiet(at now: NIODeadline) -> Bool { now - lastActivity >= Self.quiet }

    /// No digest is under way any more: the next commit sets the timer.
    mutating func end() { isScheduled = false }
}
