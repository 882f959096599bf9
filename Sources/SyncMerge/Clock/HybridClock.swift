/// The hybrid logical clock of one replica.
///
/// Invariants: `last` never goes back; every reading it gives is later than all it gave before and
/// than all peers' readings it has accepted.
///
/// Policy on wrong clocks. A *local* clock that jumps, in either direction and by any amount, never
/// stops local writing: the reading is then `last + 1`. A *peer's* reading further ahead of our
/// wall time than ``driftMax`` is **contained**: its transactions merge like any other, but our
/// clock does not follow. If the clock followed, one machine with a dead battery would move every
/// replica into the future permanently; if the transactions were refused, work would be lost.
/// Contained writes win against concurrent ones until wall time has caught up; a write made after
/// its writer has merged them overwrites them at once, because causality is compared before the
/// clock.
///
/// `driftMax` too small: peers that are a little ahead are reported as wrong, and edits within the
/// drift may order against intuition. Too large: one wrong clock carries all others that far.
package struct HybridClock: Sendable {
    /// How far a peer may be ahead before its clock is contained.
    package static let driftMax = Duration.seconds(300)

    /// How a peer's reading was treated.
    package enum Verdict: Sendable, Hashable {
        /// The clock has moved up to it, or was later already.
        case followed
        /// Too far ahead by this much; the clock did not move. To be reported.
        case contained(ahead: Duration)
    }

    /// The newest reading given or followed.
    package private(set) var last: HybridTime

    /// Continues from the newest reading that is stored.
    package init(last: HybridTime = HybridTime(rawValue: 0)) { self.last = last }

    /// The time of a transaction written now.
    /// - Parameter wall: milliseconds since 1970, by the local clock.
    package mutating func reading(wall: Int64) -> HybridTime {
        last = max(last.next, HybridTime(milliseconds: wall))
        return last
    }

    /// Records the time of a peer's transaction.
    /// - Parameter wall: milliseconds since 1970, by the local clock.
    package mutating func observe(
        _ time: HybridTime, wall: Int64, driftMax: Duration = HybridClock.driftMax
    ) -> Verdict {
        if time <= last { return .followed }
        let ahead = Duration.milliseconds(time.milliseconds - max(wall, 0))
        if ahead > driftMax { return .contained(ahead: ahead) }
        last = time
        return .followed
    }
}
