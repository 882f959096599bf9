/// What a comparison of all rows with what was recorded of them found.
public struct MissedChanges: Sendable, Hashable {
    /// How many changes the history lacks.
    public package(set) var count: Int
    /// How many objects were written so recently that only their presence was compared: what they
    /// were then is known as soon as the store is digested.
    public package(set) var recentCount: Int
    /// How many rows have fingerprints with a column that was dropped since: only their presence
    /// was compared. A comparison that may write takes new ones.
    public package(set) var partlyComparedCount = 0
}
