import SyncValues

/// Committed rows that are not in the history yet, and why a reader could not put them there: they
/// have no numbers, and no query finds them.
public struct UnsettledRows: Sendable, Hashable {
    /// How many rows of the log there are.
    public let count: Int64
    /// Why, in one sentence without a full stop.
    public let reason: String
    /// What to do next.
    public let hint: String
    /// They will be in the history without any other action: a writer holds the lock.
    public let isTransient: Bool

    /// `3 rows are not in the history yet: another connection holds the lock. Try again in …`
    public var explanation: String {
        "\(count) \(count == 1 ? "row is" : "rows are") not in the history yet: \(reason). \(hint)"
    }
}
