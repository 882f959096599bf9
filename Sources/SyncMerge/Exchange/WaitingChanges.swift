/// Changes of one table that a replica has merged and cannot show, because its schema lacks the
/// table or columns. They are kept and forwarded, and shown when the schema has them.
public struct WaitingChanges: Sendable, Hashable {
    /// What they wait for.
    public enum Reason: Sendable, Hashable {
        /// The database has no such table.
        case noTable
        /// The table is there and is not tracked.
        case notTracked
        /// The table that has this name here is another one, which was called `first` at first.
        case nameTaken(first: String)
        /// The table lacks these columns.
        case noColumns([String])
        /// The columns, or the table where there are none, were dropped by the replica that had
        /// them: they are in the history of the store alone.
        case dropped([String])
        /// The columns that have these names here are other ones.
        case columnNamesTaken([String])
        /// The key of the table that is here has these columns; the sender's has others, or other
        /// types: the replicas made two tables of one name.
        case otherKey([String])
    }

    /// Whether nothing has to be done about it.
    public var isSettled: Bool {
        if case .dropped = reason { return true }
        return false
    }

    /// The table's name at the sender.
    public let entity: String
    /// The number of changes: one for each object that a transaction changed.
    public let count: Int
    /// What they wait for.
    public let reason: Reason

    /// Describes what waits.
    public init(entity: String, count: Int, reason: Reason) {
        self.entity = entity
        self.count = count
        self.reason = reason
    }
}
