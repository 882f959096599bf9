import SyncValues

/// Committed changes that are not part of history yet: they have no number and no token, and the
/// next reader that settles them may put them together with others.
public struct PendingChanges: Sendable, Hashable {
    /// Wall time of the last statement, by the writer's clock.
    public let timestamp: Timestamp
    /// The author of a marker before them; nil: unknown.
    public let author: String?
    /// The changes, in order.
    public let changes: [Change]
}
