/// Wall time that stands still until a test moves it, and that a replica may see wrongly.
public struct VirtualClock: Sendable {
    /// Milliseconds since 1970.
    public private(set) var milliseconds: Int64

    /// Starts at a time of the test's choice.
    public init(milliseconds: Int64 = 0) { self.milliseconds = milliseconds }

    /// Moves on, or back.
    public mutating func advance(milliseconds: Int64) { self.milliseconds += milliseconds }

    /// What a machine reads whose clock is wrong by `skew` milliseconds; never before 1970.
    public func reading(skew: Int64 = 0) -> Int64 { max(0, milliseconds + skew) }
}
