extension Duration {
    /// Whole milliseconds, rounded towards zero; outside the range of the type its greatest or
    /// least value.
    package var milliseconds: Int64 {
        let (seconds, isOutside) = components.seconds.multipliedReportingOverflow(by: 1000)
        let rest = components.attoseconds / 1_000_000_000_000_000
        let sum = seconds.addingReportingOverflow(rest)
        guard !isOutside, !sum.overflow else { return components.seconds < 0 ? .min : .max }
        return sum.partialValue
    }

    /// Whole nanoseconds. Traps beyond 292 years.
    package var nanoseconds: Int64 {
        components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000
    }
}
