import SyncCore

/// Joins the parts of transactions, as far as they are within limits, and numbers the changes of
/// each transaction from 1.
///
/// Invariants:
/// - Every change reaches the caller once, in order, also when a transaction begins again after its
///   connection was lost: what was given before is left out.
/// - At most one transaction is unfinished; `joined` has those of its changes that were not given.
struct TransactionJoiner {
    private let limits: JoinLimits
    /// The transaction whose parts come.
    private var number: Int64?
    private var joined: Transaction?
    private var joinedBytes = 0
    /// Of the present transaction: what the caller has.
    private var givenChanges = 0
    private var givenParts = 0
    /// Changes that come again.
    private var repeatedChanges = 0

    init(_ limits: JoinLimits) { self.limits = limits }

    /// The connection was lost: the present transaction begins again.
    mutating func restart() {
        joined = nil
        joinedBytes = 0
        repeatedChanges = givenChanges
    }

    /// Takes a transaction or a part of one.
    ///
    /// - Returns: what the caller gets; nil while parts are joined.
    mutating func take(_ transaction: Transaction) -> Transaction? {
        let part = transaction.part ?? Transaction.Part(index: 0, isLast: true)
        if transaction.number != number {
            self = TransactionJoiner(limits)
            number = transaction.number
        } else if part.index == 0 {
            restart()
        }
        append(transaction)
        let isFull =
            (joined?.changes.count ?? 0) >= limits.changesMax || joinedBytes >= limits.bytesMax
        guard part.isLast || isFull, var result = joined else { return nil }
        // All of its changes were given before.
        if !part.isLast, result.changes.isEmpty { return nil }
        result.part =
            part.isLast && givenParts == 0
            ? nil : Transaction.Part(index: givenParts, isLast: part.isLast)
        givenChanges += result.changes.count
        givenParts += 1
        joined = nil
        joinedBytes = 0
        if part.isLast { self = TransactionJoiner(limits) }
        return result
    }

    private mutating func append(_ transaction: Transaction) {
        let known = min(repeatedChanges, transaction.changes.count)
        repeatedChanges -= known
        if joined == nil {
            joined = transaction
            joined?.changes = []
        }
        var seq = Int64(givenChanges + (joined?.changes.count ?? 0))
        for var change in transaction.changes.dropFirst(known) {
            seq += 1
            change.seq = seq
            joinedBytes += change.jsonBytes
            joined?.changes.append(change)
        }
    }
}
