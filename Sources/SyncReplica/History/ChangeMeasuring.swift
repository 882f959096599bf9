import SyncCore

/// Says how large changes are, where a transaction is taken apart by that.
protocol ChangeMeasuring: AnyObject {
    /// Whether that many changes may be beyond the limits for one transaction.
    func mayExceed(_ limits: PartitionLimits, count: Int) -> Bool

    /// The facts that a change makes, at most.
    func factCount(of change: NetChange) throws -> Int

    /// About how many bytes the values have that a change wrote.
    func byteCount(of change: NetChange) throws -> Int64

    /// The rank of the table of a change: parents have a lower one than their children. Nil: it
    /// refers to no other table, and no other to it.
    func rank(of change: NetChange) throws -> Int?

    /// Whether the table of a change refers to itself.
    func isNested(_ change: NetChange) throws -> Bool
}
