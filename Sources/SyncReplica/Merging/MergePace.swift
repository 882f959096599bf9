import Foundation

/// How a long merge shares the database with concurrent writers.
///
/// A writer that finds the database locked tries again after 1, 2, 5, 10, 15, 20, then 25 and more
/// milliseconds (SQLite's busy handler); a waiting writer cannot be detected. A slice holds the
/// lock for 25 ms, at most 33 unless one transaction is larger; then the lock is free for 15 ms,
/// the longest time that such a writer sleeps in its first 33 ms. So it gets the lock within these
/// 33 ms, whenever it came. With longer slices or shorter pauses a merge is faster, but a writer
/// may miss every pause.
struct MergePace {
    /// How long a slice holds the lock.
    static let slice = Duration.milliseconds(25)
    /// How long the lock is free after it, in seconds.
    static let pause = 0.015

    /// Facts of the next slice.
    private(set) var factsMax = 1_000
    private static let facts = 200...10_000

    /// Whether no other connection can have the file open: then no pause is needed.
    let isAlone: Bool

    /// Computes the size of the next slice, and sleeps.
    /// - Parameter duration: how long the last slice took.
    mutating func pause(after duration: Duration) {
        let ratio = Self.slice / max(duration, .microseconds(100))
        let wanted = Int(Double(factsMax) * min(1.5, max(0.25, ratio)))
        factsMax = min(max(wanted, Self.facts.lowerBound), Self.facts.upperBound)
        if !isAlone { Thread.sleep(forTimeInterval: Self.pause) }
    }
}
