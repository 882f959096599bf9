/// Where one transaction of the log ends.
public struct Boundary: Sendable, Hashable {
    /// The `seq` of the transaction's last row in the log: its number.
    public let last: Int64
    /// False: the rows up to `last` may belong to several transactions, which can no longer be told
    /// apart.
    public let isExact: Bool

    /// Makes a boundary.
    public init(last: Int64, isExact: Bool) {
        self.last = last
        self.isExact = isExact
    }
}

/// The transactions of the log from a position up to a snapshot, oldest first.
public struct Boundaries: Sendable, Equatable {
    /// One per commit that appended to the log; `last` ascends, and the last one ends the snapshot.
    public var transactions: [Boundary]

    /// Makes a list of boundaries.
    public init(transactions: [Boundary]) { self.transactions = transactions }

    /// No two transactions had to be taken for one.
    public var isExact: Bool { transactions.allSatisfy(\.isExact) }
}
