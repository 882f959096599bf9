/// How text shows times.
enum TimeStyle: String, CaseIterable {
    /// `2 hours ago`
    case relative
    /// `2026-01-31 12:00:00.000`, by the clock of this machine.
    case absolute
}
