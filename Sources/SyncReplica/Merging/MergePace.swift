import Foundation
import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

/// How a long merge shares the database with those who write it meanwhile.
///
/// A writer that finds the database locked asks again after 1, 2, 5, 10, 15, 20, then 25 and more
/// milliseconds (SQLite's busy handler), and nobody can see it waiting. A slice holds the lock for
/// 25 ms, 33 at most unless one transaction is larger; then the lock is free for 15 ms, the longest
/// that such a writer sleeps in its first 33 ms. So it gets in within these 33 ms, wherever in a
/// slice it came. Longer slices or shorter pauses are faster, and leave it to luck.
struct MergePace {
    /// How long a slice holds the lock.
    static let slice = Duration.milliseconds(25)
    /// How long the lock is free after it, in seconds.
    static let pause = 0.015

    /// Facts of the next slice.
    private(set) var factsMax = 1_000
    private static let facts = 200...10_000

    /// Whether nobody else can know of the file: then there is no need to rest.
    let isAlone: Bool

    /// After a slice that took so long: draws the size of the next one, and rests.
    mutating func rest(after duration: Duration) {
        let ratio = Self.slice / max(duration, .microseconds(100))
        let wanted = Int(Double(factsMax) * min(1.5, max(0.25, ratio)))
        factsMax = min(max(wanted, Self.facts.lowerBound), Self.facts.upperBound)
        if !isAlone { Thread.sleep(forTimeInterval: Self.pause) }
    }
}
