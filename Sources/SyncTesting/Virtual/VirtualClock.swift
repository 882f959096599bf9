/// Wall time that changes only when a test advances it; a replica may read it with an error.
public struct VirtualClock: Sendable {
    /// Milliseconds since 1970.
    public private(set) var milliseconds: Int64

    /// A clock that starts at the given time.
    public init(milliseconds: Int64 = 0) { self.milliseconds = milliseconds }

    /// Advances the clock; a negative number sets it back.
    public mutating func advance(milliseconds: Int64) { self.milliseconds += milliseconds }

    /// What a machine reads whose clock is wrong by `skew` milliseconds; never before 1970.
    public func reading(skew: Int64 = 0) -> Int64 { max(0, milliseconds + skew) }
}
