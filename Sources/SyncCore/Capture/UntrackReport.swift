/// What ``Tracker/untrack(entities:)`` did not take away.
public struct UntrackReport: Sendable, Hashable {
    /// Objects whose names begin with `syncd_` and that syncd did not make, as `table syncd_notes`.
    /// They stay.
    public var leftAlone: [String]

    /// Makes a report.
    public init(leftAlone: [String] = []) { self.leftAlone = leftAlone }
}
