import Glibc
import Synchronization

/// How merges share the database with concurrent writers.
///
/// A writer that finds the database locked tries again after 1, 2, 5, 10, 15, 20, then 25 and more
/// milliseconds (SQLite's busy handler); a waiting writer cannot be detected. Merges hold the lock
/// for 25 ms, at most 33 unless one transaction is larger; then the lock is free for 15 ms, the
/// longest time that such a writer sleeps in its first 33 ms. So it gets the lock within these
/// 33 ms, whenever it came. With longer slices or shorter pauses a merge is faster, but a writer
/// may miss every pause.
///
/// That holds for the slices of a batch, and for batches that follow each other, however small they
/// are: one for each replica, for all of its merges.
final class MergePace: Sendable {
    /// How long a slice holds the lock.
    static let slice = Duration.milliseconds(25)
    /// How long the lock is held without a pause: a slice that takes a third more than the ones
    /// before it.
    static let heldMax = Duration.milliseconds(33)
    /// How long the lock is free then.
    static let pause = Duration.milliseconds(15)

    private static let facts = 200...10_000

    private struct State {
        var factsMax = 1_000
        /// How long the lock was held since the last pause.
        var held = Duration.zero
        var end: ContinuousClock.Instant?
    }

    private let state = Mutex(State())

    /// Facts of the next slice.
    var factsMax: Int { state.withLock(\.factsMax) }

    /// Leaves the lock alone for a while before a transaction, if that is due.
    /// - Parameter facts: that it merges.
    func pause(before facts: Int) {
        let wait = wait(before: facts, at: .now)
        if wait > .zero { usleep(UInt32(wait / .microseconds(1))) }
    }

    /// How long to leave the lock alone before a transaction.
    /// - Parameters:
    ///   - facts: that it merges.
    ///   - now: the time.
    func wait(before facts: Int, at now: ContinuousClock.Instant) -> Duration {
        state.withLock { state in
            guard let end = state.end else { return .zero }
            let free = now - end
            if free >= Self.pause { state.held = .zero }
            let expected = Self.slice * Double(facts) / Double(state.factsMax)
            guard state.held > .zero, state.held + expected > Self.heldMax else { return .zero }
            state.held = .zero
            return Self.pause - free
        }
    }

    /// Notes a transaction, and computes the size of the next slice.
    func note(_ facts: Int, from start: ContinuousClock.Instant, to end: ContinuousClock.Instant) {
        state.withLock { state in
            let duration = end - start
            state.held += duration
            state.end = end
            // What a small one takes does not tell what a large one would.
            guard facts >= state.factsMax / 2 else { return }
            let ratio =
                Self.slice * Double(facts) / Double(state.factsMax)
                / max(duration, .microseconds(100))
            let wanted = Int(Double(state.factsMax) * min(1.5, max(0.25, ratio)))
            state.factsMax = min(max(wanted, Self.facts.lowerBound), Self.facts.upperBound)
        }
    }
}
