import SyncValues

/// The permanent name of one transaction: the replica that made it and its number there.
///
/// Numbers of one replica grow and have gaps; the first is 1 or more. In a record, 0 stands for no
/// transaction (``Version/isUnwritten``). The order of dots (replica, then number) is not an order
/// in time: it breaks ties, in the same way on every replica.
package struct Dot: Sendable, Hashable {
    /// The replica that made the transaction.
    package let replica: ReplicaID
    /// The transaction's number in that replica.
    package let number: Int64

    /// Makes a dot.
    package init(_ replica: ReplicaID, _ number: Int64) {
        self.replica = replica
        self.number = number
    }
}

extension Dot: Comparable {
    package static func < (left: Dot, right: Dot) -> Bool {
        left.replica == right.replica ? left.number < right.number : left.replica < right.replica
    }
}

extension Dot: CustomStringConvertible {
    /// `REPLICA:number`, the replica's first eight digits.
    package var description: String { "\(replica.description.prefix(8)):\(number)" }
}
