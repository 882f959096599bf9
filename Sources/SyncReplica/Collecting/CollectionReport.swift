/// What a collection dropped.
public struct CollectionReport: Sendable, Hashable {
    /// Deleted objects of which no replica needs a record any more.
    public internal(set) var objects = 0
    /// Transactions without a fact that is still current.
    public internal(set) var transactions = 0

    /// A report of a collection that dropped nothing.
    public init() {}
}
