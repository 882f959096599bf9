import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

/// Transactions in this replica's name.
///
/// A replica alone writes them, and has each of them. Those that come from elsewhere and are not
/// here, or are others here, have two possible causes. The file was put back to an earlier state
/// with its identity, so that it goes on under numbers that others have already; or somebody
/// forges them. Merged, they would make two transactions of one name, and the replicas would
/// differ for ever without a word.
extension MergeWork {
    /// - Throws: `refused` for a batch with such transactions, or that claims to lead past some.
    func requireOwn(_ batch: Batch, _ merged: VersionVector) throws {
        let own = session.identity.replica
        guard batch.upTo[own] <= merged[own] else {
            throw ForeignTransactions(replica: own, number: batch.upTo[own], sender: batch.sender)
                .error
        }
        if let number = try foreignNumber(in: batch) {
            throw ForeignTransactions(replica: own, number: number, sender: batch.sender).error
        }
    }

    /// The first transaction of a batch in this replica's name that it did not write; nil: it has
    /// written all of them.
    ///
    /// Two transactions of one number differ in their time. One whose header was collected, because
    /// all replicas had merged it and nothing is left of it, counts as written.
    func foreignNumber(in batch: Batch) throws -> Int64? {
        let own = session.identity.replica
        let newest = try prepared.headers.vector()[own]
        let collected = try prepared.history.settings.vector(.collected)
        for transaction in batch.transactions where transaction.header.dot.replica == own {
            let header = transaction.header
            guard header.dot.number <= newest else { return header.dot.number }
            let stored = try prepared.headers.header(header.dot)
            guard stored?.time != header.time else { continue }
            if stored != nil || !collected.covers(header.dot) { return header.dot.number }
        }
        return nil
    }

    /// Takes note of the newest transaction of this replica's own that anybody may have.
    func noteSent(_ number: Int64) throws {
        let settings = prepared.history.settings
        guard try settings.value(.sent) == .null || settings.integer(.sent) < number else { return }
        try settings.set(.sent, .integer(number))
    }

    /// The newest transaction of this replica's own that anybody may have. Where it was not kept,
    /// because an older version sent it: the newest that another replica has said to have merged.
    func sentNumber() throws -> Int64 {
        if case .integer(let number) = try prepared.history.settings.value(.sent) { return number }
        let own = session.identity.replica
        return try PeerStorage(session.connection, prepared.replicas).all().values
            .map { $0.merged[own] }.max() ?? 0
    }
}
