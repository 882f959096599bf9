/// What ``Store/poll()`` returns: what was committed since the last call.
public struct PollResult: Sendable {
    /// The transactions, in order, each once.
    public package(set) var transactions: [Transaction] = []
    /// More was committed than is assembled in memory: read everything after the last token
    /// with ``Store/history(_:)`` instead.
    public package(set) var tooLarge = false
    /// The database's schema has changed since the last call.
    public package(set) var schemaChanged = false

    /// Rows that could not be given a number yet: call ``Store/poll()`` again soon. Nil: none.
    public package(set) var unsettled: UnsettledRows?

    package init(schemaChanged: Bool) { self.schemaChanged = schemaChanged }
}
