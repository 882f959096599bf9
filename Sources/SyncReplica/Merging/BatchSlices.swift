import SyncMerge

/// A batch as a sequence of smaller ones with the same result: divided between transactions, in
/// their order, so that each slice is a causal cut.
///
/// An object that one slice creates and a later one completes is not shown in between.
struct BatchSlices {
    /// Batches with more facts than this are merged in slices.
    static let wholeFactsMax = 5_000

    private let batch: Batch
    /// Facts of each transaction; empty where the batch is merged whole.
    private let counts: [Int]
    private var start = 0
    private var vector: VersionVector

    /// - Complexity: O(transactions)
    init(_ batch: Batch) {
        self.batch = batch
        vector = batch.from
        guard let facts = batch.arriving, batch.factCount > Self.wholeFactsMax else {
            counts = []
            return
        }
        counts = batch.arrivingRange.map { facts.count(in: $0..<$0 + 1) }
    }

    /// The batch's proofs for a slice that ends before a transaction: the rest of the batch is what
    /// leads from it to the anchors. Each link but the first is known then, so that the rest is
    /// needed where a slice may be the last one that is merged.
    private func proofs(after end: Int) -> [ReplicaID: SignerProof] {
        if batch.proofs.isEmpty || end == batch.transactions.count { return batch.proofs }
        var rest: [ReplicaID: [TransactionHeader]] = [:]
        for transaction in batch.transactions[end...]
        where batch.proofs[transaction.header.dot.replica] != nil {
            rest[transaction.header.dot.replica, default: []].append(transaction.header)
        }
        var proofs = batch.proofs
        for (replica, headers) in rest {
            proofs[replica] = proofs[replica].map { $0.with(headers: headers + $0.headers) }
        }
        return proofs
    }

    /// Whether there is no other slice.
    private var isAtEnd: Bool { start >= max(1, batch.transactions.count) }

    /// The next slice; nil after the last one.
    /// - Parameter factsMax: facts in it, unless one transaction has more.
    /// - Complexity: O(facts of the slice)
    mutating func next(factsMax: Int) -> Batch? {
        guard !isAtEnd else { return nil }
        if counts.isEmpty {
            start = .max
            return batch
        }
        var end = start + 1
        var count = counts[start]
        while end < counts.count, count + counts[end] <= factsMax {
            count += counts[end]
            end += 1
        }
        var slice = batch.part(start..<end)
        slice.from = vector
        for transaction in slice.transactions { vector.advance(to: transaction.header.dot) }
        // After the last transaction there may be collected ones.
        if end == counts.count { vector.join(batch.upTo) }
        slice.upTo = vector
        slice.proofs = proofs(after: end)
        if start > 0 {
            slice.schemas = slice.schemas.filter {
                !slice.from.covers($0.dot) && slice.upTo.covers($0.dot)
            }
        }
        start = end
        return slice
    }
}
