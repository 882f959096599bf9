/// How long it took until notices of a commit were sent, counted by ranges of time.
///
/// Invariant: `counts` has one element for each bound, and one for what took longer than the last.
public struct LatencyHistogram: Sendable, Hashable {
    /// The upper ends of the ranges that the daemon counts, in microseconds. The usual notice takes
    /// less than a millisecond; the last range is what a person notices.
    public static let bounds: [Int64] = [
        100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000,
        1_000_000, 5_000_000,
    ]

    /// The upper ends of the ranges in microseconds, ascending.
    public let bounds: [Int64]
    /// How many notices each range has; the last one: those that took longer.
    public private(set) var counts: [Int64]
    /// The time of all of them in microseconds.
    public private(set) var sum: Int64

    /// Nothing counted yet.
    public init() {
        bounds = Self.bounds
        counts = Array(repeating: 0, count: bounds.count + 1)
        sum = 0
    }

    /// What was counted elsewhere; nil when there is not one count for each range.
    public init?(bounds: [Int64], counts: [Int64], sum: Int64) {
        guard counts.count == bounds.count + 1 else { return nil }
        (self.bounds, self.counts, self.sum) = (bounds, counts, sum)
    }

    /// How many notices were counted.
    public var count: Int64 { counts.reduce(0, &+) }

    /// Counts `count` notices that took `duration` each.
    /// - Complexity: O(ranges)
    public mutating func note(_ duration: Duration, count: Int64 = 1) {
        let (seconds, rest) = duration.components
        let microseconds = max(0, seconds &* 1_000_000 &+ rest / 1_000_000_000_000)
        let range = bounds.firstIndex { microseconds <= $0 } ?? bounds.count
        counts[range] &+= count
        sum &+= microseconds &* count
    }

    /// Adds what another one counted, if it has the same ranges.
    public mutating func add(_ other: LatencyHistogram) {
        guard other.bounds == bounds else { return }
        for range in counts.indices { counts[range] &+= other.counts[range] }
        sum &+= other.sum
    }
}
