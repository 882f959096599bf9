import NIOCore

/// When a store's log is moved into its history tables. A value, guarded by its ``HubState``.
///
/// A digest takes the write lock for some milliseconds at a time. A program that waits for no lock
/// (busy timeout 0) and writes just then is refused; in the rollback modes one that reads, too. So
/// it begins after ``Pace/quiet`` without a commit: too short makes such programs fail, too long
/// lets the log grow, and queries that have to put its rows together get slower. A store that is
/// never quiet for as long is digested all the same when ``Pace/rowsMax`` rows wait (after
/// ``shortQuiet`` without a commit, or ``burstMax``), or the first has waited for ``delayMax``.
struct DigestSchedule {
    /// What differs between the journal modes.
    struct Pace: Equatable {
        /// How long no commit came.
        let quiet: TimeAmount
        /// How many rows of the log may wait.
        let rowsMax: Int64

        /// Readers never meet the digest.
        static let wal = Pace(quiet: .seconds(2), rowsMax: 5_000)
        /// A commit of the digest keeps readers out, and waits for the disk more than once.
        static let rollback = Pace(quiet: .seconds(3), rowsMax: 20_000)
    }

    static let shortQuiet: TimeAmount = .milliseconds(200)
    static let burstMax: TimeAmount = .seconds(2)
    static let delayMax: TimeAmount = .minutes(10)
    /// After a digest that found a lock taken; doubles each time up to ``busyDelayMax``.
    static let busyDelay: TimeAmount = .milliseconds(500)
    static let busyDelayMax: TimeAmount = .seconds(30)
    /// One stretch of work; writers and notices get their turn in between.
    static let budget: Duration = .milliseconds(5)
    static let pause: TimeAmount = .milliseconds(5)

    var pace = Pace.wal
    /// A digest is under way or its timer is set.
    private(set) var isScheduled = false
    private var lastActivity: NIODeadline = .distantPast
    /// The first commit since the last digest, and the number before it.
    private var firstActivity: NIODeadline = .distantPast
    private var firstNumber: Int64 = 0
    private var lastNumber: Int64 = 0
    /// A transaction came that is read from the history tables only.
    private var isAwaited = false
    private var nextBusyDelay = Self.busyDelay
    /// Since when each digest has found a lock taken.
    private var busySince: NIODeadline?

    /// Notes a commit; true when the timer has to be set.
    ///
    /// - Parameters:
    ///   - number: the last transaction; 0 where it is not known.
    ///   - isAwaited: subscribers wait for the digest: the transaction was too large for them.
    mutating func noteActivity(
        at now: NIODeadline, number: Int64 = 0, isAwaited: Bool = false
    ) -> Bool {
        lastActivity = now
        if isAwaited { self.isAwaited = true }
        defer { lastNumber = max(lastNumber, number) }
        if isScheduled { return false }
        firstActivity = now
        firstNumber = lastNumber
        isScheduled = true
        return true
    }

    /// How long to wait still; nil when it is time.
    func delay(at now: NIODeadline) -> TimeAmount? {
        if isQuiet(at: now) || now - firstActivity >= Self.delayMax { return nil }
        let quiet = now - lastActivity
        guard isAwaited || lastNumber - firstNumber > pace.rowsMax else {
            // Asked again before: rows may come to be too many.
            return min(pace.quiet - quiet, Self.burstMax)
        }
        if quiet >= Self.shortQuiet || now - firstActivity >= Self.burstMax { return nil }
        return Self.shortQuiet - quiet
    }

    /// Whether there was no commit for a while.
    func isQuiet(at now: NIODeadline) -> Bool { now - lastActivity >= pace.quiet }

    /// A digest found a lock taken: how long to wait before the next one.
    mutating func noteBusy(at now: NIODeadline) -> TimeAmount {
        busySince = busySince ?? now
        defer { nextBusyDelay = min(nextBusyDelay * 2, Self.busyDelayMax) }
        return nextBusyDelay
    }

    /// Whether digests have found a lock taken for ``delayMax``.
    func isOverdue(at now: NIODeadline) -> Bool {
        busySince.map { now - $0 >= Self.delayMax } ?? false
    }

    /// No digest is under way any more: the next commit sets the timer.
    mutating func end() {
        busySince = nil
        isScheduled = false
        isAwaited = false
        nextBusyDelay = Self.busyDelay
    }
}
