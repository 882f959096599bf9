import SyncCore
import SyncStorage

/// When a store that failed is tried again, and whether it is in quarantine. A value, guarded by
/// its ``HubState``.
///
/// A store that cannot be opened is tried again at once when its files have changed, else after a
/// pause that doubles each time, from 1 s to 30 s. Shorter pauses let a thousand broken stores keep
/// the daemon busy; longer ones delay a store whose repair does not change its files.
///
/// A store that fails ``failuresMax`` times in a row in the same work, or once for ``slowFailure``,
/// or was being worked on when the daemon crashed, goes into quarantine: it is closed and left
/// alone, and a change of its files does not count, because the owner of a hostile file changes it
/// as often as they like. The pauses go on doubling up to ``quarantineMax``. It is tried at once
/// when another file is at the path, and when it is asked for. Sooner into quarantine, and a
/// program that rebuilds its database gets there; later, and a hostile store takes its owner's
/// share of the threads for longer. It ends with the first success in the work that failed.
///
/// The daemon's own stores are tried after ``pauseMax`` at the latest when their files change: a
/// backup that is copied into the file is noticed.
struct StoreTrust {
    /// What failed.
    enum Work: Hashable {
        case opening, reading, digesting, repairing
    }

    /// The changes of a quarantine, for the log.
    enum Turn: Equatable {
        /// It began.
        case began
        case ended
    }

    static let failuresMax = 5
    /// A failure after so long is that of a store that is made to take long.
    static let slowFailure = Duration.seconds(10)
    /// Repairs that follow each other within this time count as failures.
    private static let repairWindow = Duration.seconds(10)
    private static let pauseMin = Duration.seconds(1)
    private static let pauseMax = Duration.seconds(30)
    static let quarantineMax = Duration.seconds(600)

    private(set) var isQuarantined = false
    /// The log has that it began, and not yet that it ended.
    private var isTold = false
    /// When it is tried again at the latest.
    private(set) var next = ContinuousClock.now
    /// How many failures in a row there were.
    var failureCount: Int { failures.values.max() ?? 0 }
    private var failures: [Work: Int] = [:]
    private var files: [FileStamp?] = []
    private var file: FileIdentity?
    private var pause = Self.pauseMin
    private var lastTry: ContinuousClock.Instant?
    private var lastRepair: ContinuousClock.Instant?

    /// Whether to try to open the store now; if so, the next pause begins.
    ///
    /// - Parameter isOwn: the store belongs to the daemon's user.
    /// - Complexity: O(1), some system calls.
    mutating func mayTry(
        _ path: String, isOwn: Bool, now: ContinuousClock.Instant = .now
    ) -> Bool {
        let present = [path, path + "-wal"].map(FileStamp.init(path:))
        let identity = FileIdentity(path: path)
        defer { file = identity }
        if let file, identity != nil, file != identity {
            // A store that crashed the daemon has no file noted, and waits.
            begin()
        } else if present != files, !isQuarantined {
            pause = Self.pauseMin
        } else if present != files, isOwn, lastTry.map({ now - $0 >= Self.pauseMax }) ?? true {
            // The pause goes on growing for a file that does not change.
        } else if now < next {
            return false
        }
        files = present
        lastTry = now
        next = now + pause
        pause = min(pause * 2, isQuarantined ? Self.quarantineMax : Self.pauseMax)
        return true
    }

    /// The owner asks for it: it is tried without regard to what was before.
    mutating func begin() {
        (isQuarantined, failures, pause) = (false, [:], Self.pauseMin)
        next = .now
    }

    /// The daemon crashed while it was at work on the store, several times.
    mutating func noteCrashes(_ count: Int, now: ContinuousClock.Instant = .now) {
        (isQuarantined, isTold) = (true, true)
        // Most of what reads a store is over when it is open and digested.
        (failures[.opening], failures[.digesting]) = (count, count)
        pause = Self.quarantineMax
        next = now + pause
    }

    /// Work failed that took `duration`.
    ///
    /// - Returns: what that changed.
    mutating func noteFailure(
        of work: Work, after duration: Duration = .zero, now: ContinuousClock.Instant = .now
    ) -> Turn? {
        let isSlow = duration >= Self.slowFailure
        failures[work, default: 0] += isSlow ? Self.failuresMax : 1
        guard !isQuarantined, failureCount >= Self.failuresMax else { return nil }
        (isQuarantined, isTold) = (true, true)
        next = max(next, now + pause)
        return .began
    }

    /// The store had to be repaired.
    mutating func noteRepair(now: ContinuousClock.Instant = .now) -> Turn? {
        defer { lastRepair = now }
        if let lastRepair, now - lastRepair < Self.repairWindow {
            return noteFailure(of: .repairing, now: now)
        }
        if !isQuarantined { failures[.repairing] = nil }
        return nil
    }

    /// Work ended well.
    ///
    /// - Returns: what that changed.
    mutating func noteSuccess(of work: Work, now: ContinuousClock.Instant = .now) -> Turn? {
        guard isTold || !failures.isEmpty else { return nil }
        failures[work] = nil
        let isSound = lastRepair.map { now - $0 >= Self.repairWindow } ?? true
        if work == .digesting, isSound { failures[.repairing] = nil }
        guard isTold, failures.isEmpty else { return nil }
        isTold = false
        begin()
        return .ended
    }
}
