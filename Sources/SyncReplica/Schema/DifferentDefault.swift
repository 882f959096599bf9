import SyncValues

/// A column that two replicas added with different defaults. Rows that were there before it show
/// the default of their replica: nobody wrote a value, so there is no fact to agree on.
public struct DifferentDefault: Sendable, Hashable {
    /// The name of the table here.
    public let entity: String
    /// The name of the column here.
    public let column: String
    /// What rows without a value show here, as SQL.
    public let here: String
    /// What they show on the other replica.
    public let there: String
    /// The other replica.
    public let replica: ReplicaID
    /// How many rows may have no value of their own: those that show the default since they were
    /// inserted.
    public let rows: Int
}
