/// A reading of a hybrid logical clock: 48 bits of milliseconds since 1970, then 16 bits of
/// counter.
///
/// Later than everything its writer had merged, and as near to wall time as that allows. It decides
/// between *concurrent* writes only; causality is compared first, by version vectors.
package struct HybridTime: Sendable, Hashable, Comparable {
    /// Milliseconds in the upper 48 bits, the counter in the lower 16.
    package let rawValue: UInt64

    /// Reads a stored value.
    package init(rawValue: UInt64) { self.rawValue = rawValue }

    /// The first reading of a millisecond. Times before 1970 count as 1970; times after the year
    /// 10889 as that year.
    package init(milliseconds: Int64) {
        let limit = (Int64(1) << 48) - 1
        rawValue = UInt64(min(max(milliseconds, 0), limit)) << 16
    }

    /// Wall time, in milliseconds since 1970.
    package var milliseconds: Int64 { Int64(rawValue >> 16) }

    /// The reading after this one; a full counter moves into the next millisecond.
    package var next: HybridTime {
        HybridTime(rawValue: rawValue == .max ? rawValue : rawValue + 1)
    }

    package static func < (left: HybridTime, right: HybridTime) -> Bool {
        left.rawValue < right.rawValue
    }
}
