import SyncCore

/// When one remote of one store is synchronised next, and the result of the last exchange.
///
/// Policy: soon after a commit or a notice of the remote; else each interval; after a failure not
/// before a pause, which doubles each time, whatever happens meanwhile. Without the pause every
/// commit would repeat an exchange that is bound to fail; with a longer one, the store lags longer
/// once the remote is back.
struct RemoteSchedule: Sendable {
    private static let firstPause: Duration = .seconds(1)

    private(set) var options: ReplicationOptions
    /// When the next exchange is due; nil while one is under way.
    private(set) var due: ContinuousClock.Instant?
    /// Something happened while an exchange was under way.
    private var isWanted = false
    private var firstWanted: ContinuousClock.Instant?
    private var blockedUntil: ContinuousClock.Instant?
    private(set) var failures = 0
    /// How many exchanges have failed in all.
    private(set) var failureCount = 0
    /// When the first of the failures in a row was; nil: the last exchange did not fail.
    private(set) var failingSince: Timestamp?
    /// How many transactions were committed since the last exchange that succeeded began. Before
    /// one did: those that the store says were sent to nobody (``learn(unsent:since:)``), and those
    /// committed since.
    var unsent: Int { waiting + underway }
    /// The same, as far as it is known: 0 says that everything was sent, and only an exchange that
    /// succeeded can say that.
    var knownUnsent: Int? { lastSuccess == nil && unsent == 0 ? nil : unsent }
    /// Those of them that the next exchange sends, and those of the one that is under way.
    private var waiting = 0
    private var underway = 0
    /// Why the last exchange failed; nil when it did not.
    private(set) var error: SyncError?
    /// When an exchange last succeeded.
    private(set) var lastSuccess: Timestamp?
    /// Since when there are unsent changes; nil: there are none.
    private(set) var behindSince: Timestamp?

    init(_ options: ReplicationOptions, now: ContinuousClock.Instant) {
        self.options = options
        due = now
    }

    /// Before the first exchange: what the store says was sent to no remote.
    ///
    /// - Parameter since: when the oldest of it was committed.
    mutating func learn(unsent count: Int, since: Timestamp?) {
        guard lastSuccess == nil, count > 0 else { return }
        waiting += count
        behindSince = [behindSince, since].compactMap(\.self).min()
    }

    /// Continues with other options.
    mutating func adopt(_ options: ReplicationOptions, at now: ContinuousClock.Instant) {
        self.options = options
        if due != nil { due = max(now, blockedUntil ?? now) }
    }

    /// Transactions were committed here.
    mutating func committed(
        _ count: Int = 1, at now: ContinuousClock.Instant, wall: Timestamp
    ) {
        waiting += count
        behindSince = behindSince ?? wall
        want(at: now, in: .milliseconds(options.delayMilliseconds))
    }

    /// The remote changed.
    mutating func changed(at now: ContinuousClock.Instant) {
        want(at: now, in: .milliseconds(options.delayMilliseconds))
    }

    private mutating func want(at now: ContinuousClock.Instant, in delay: Duration) {
        guard due != nil else {
            isWanted = true
            return
        }
        let first = firstWanted ?? now
        firstWanted = first
        let latest = first + delay * ReplicationOptions.burstDelays
        due = max(min(now + delay, latest), blockedUntil ?? now)
    }

    /// An exchange begins.
    mutating func begin() {
        due = nil
        isWanted = false
        firstWanted = nil
        (waiting, underway) = (0, unsent)
    }

    /// The exchange succeeded.
    mutating func succeeded(at now: ContinuousClock.Instant, wall: Timestamp) {
        failures = 0
        underway = 0
        failingSince = nil
        error = nil
        blockedUntil = nil
        lastSuccess = wall
        behindSince = isWanted ? wall : nil
        due = now + .seconds(options.intervalSeconds)
        if isWanted { want(at: now, in: .milliseconds(options.delayMilliseconds)) }
    }

    /// The exchange failed.
    ///
    /// - Parameter jitter: 0 to 1: so that many replicas do not come back at once.
    mutating func failed(
        _ error: SyncError, at now: ContinuousClock.Instant, wall: Timestamp = .now(),
        jitter: Double
    ) {
        self.error = error
        failures += 1
        failureCount += 1
        failingSince = failingSince ?? wall
        let longest = Duration.seconds(options.retryMaxSeconds)
        let pause = min(Self.firstPause * (1 << min(failures - 1, 20)), longest)
        let until = now + pause * (0.75 + 0.25 * jitter)
        blockedUntil = until
        due = until
    }
}
