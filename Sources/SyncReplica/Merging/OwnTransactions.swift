import SyncMerge
import SyncValues

/// Transactions in this replica's name, in batches and in the settings.
///
/// Invariant: only this replica writes transactions in its name, and it has each of them. A batch
/// with one that is not here, or is another one here, has two possible causes: the file was
/// restored to an earlier state with its identity, so that it reuses numbers that other replicas
/// have; or the batch is forged. Merged, it would make two transactions of one name, and the
/// replicas would differ permanently and without an error.
struct OwnTransactions {
    private let transaction: MergeTransaction
    private let storage: ReplicaStorage

    init(_ transaction: MergeTransaction) {
        self.transaction = transaction
        storage = transaction.storage
    }

    private var own: ReplicaID { transaction.identity.replica }

    /// - Parameter merged: what this replica has merged.
    /// - Throws: `refused` for a batch with such transactions, or whose vector covers some;
    ///   `impostor` where this replica signs and has not signed them.
    /// - Complexity: O(transactions of the batch)
    func requireKnown(in batch: Batch, merged: VersionVector) throws {
        let foreign =
            batch.upTo[own] <= merged[own] ? try firstForeign(in: batch) : batch.upTo[own]
        guard let foreign else { return }
        if try isForged(in: batch) {
            throw SignatureFault.impostor(own, number: foreign, sender: batch.sender)
        }
        throw ForeignTransactions(replica: own, number: foreign, sender: batch.sender).error
    }

    /// Whether this replica signs, and a batch with such transactions does not prove that it has
    /// signed them. Where it does, this file was restored to an earlier state.
    /// - Throws: SQLite errors.
    /// - Complexity: O(transactions of the batch)
    func isForged(in batch: Batch) throws -> Bool {
        guard let me = try storage.signers.all()[own] else { return false }
        let newest = try storage.headers.vector()[own]
        // From before it signed, nothing can be proved.
        if batch.upTo[own] <= me.first { return false }
        guard let proof = batch.proofs[own], proof.key == me.key else { return true }
        let isWhole = SignedMerging(batch, merged: VersionVector(), in: transaction)
            .isWhole(proof, of: own)
        let isBeyond = proof.anchor.link.number > newest
        return !isWhole || !isBeyond && batch.upTo[own] > newest
    }

    /// The first transaction of a batch in this replica's name that it did not write; nil: it has
    /// written all of them.
    ///
    /// Two transactions of one number differ in their time. One whose header was collected counts
    /// as written.
    /// - Throws: SQLite errors.
    /// - Complexity: O(transactions of the batch)
    func firstForeign(in batch: Batch) throws -> Int64? {
        let newest = try storage.headers.vector()[own]
        let collected = try transaction.settings.vector(.collected)
        for transaction in batch.transactions where transaction.header.dot.replica == own {
            let header = transaction.header
            guard header.dot.number <= newest else { return header.dot.number }
            let stored = try storage.headers.header(header.dot)
            guard stored?.time != header.time else { continue }
            if stored != nil || !collected.covers(header.dot) { return header.dot.number }
        }
        return nil
    }
}
