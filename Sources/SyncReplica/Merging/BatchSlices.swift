import SyncMerge

/// A batch as a sequence of smaller ones with the same result: divided between transactions, in
/// their order, so that each slice is a causal cut.
///
/// An object that one slice creates and a later one completes is not shown in between.
struct BatchSlices {
    /// Batches with more facts than this are merged in slices.
    static let wholeFactsMax = 5_000

    private let batch: Batch
    private let facts: [[Fact]]
    private var start = 0
    private var vector: VersionVector

    /// - Complexity: O(facts)
    init(_ batch: Batch) {
        self.batch = batch
        vector = batch.from
        guard batch.facts.count > Self.wholeFactsMax else {
            facts = []
            return
        }
        var places: [Dot: Int] = [:]
        for (place, transaction) in batch.transactions.enumerated() {
            places[transaction.header.dot] = place
        }
        var facts: [[Fact]] = Array(repeating: [], count: batch.transactions.count)
        for fact in batch.facts {
            if let place = places[fact.dot] { facts[place].append(fact) }
        }
        self.facts = facts
    }

    /// Whether there is no other slice.
    var isAtEnd: Bool { start >= max(1, batch.transactions.count) }

    /// The next slice; nil after the last one.
    /// - Parameter factsMax: facts in it, unless one transaction has more.
    /// - Complexity: O(facts of the slice)
    mutating func next(factsMax: Int) -> Batch? {
        guard !isAtEnd else { return nil }
        if facts.isEmpty {
            start = .max
            return batch
        }
        var end = start + 1
        var count = facts[start].count
        while end < facts.count, count + facts[end].count <= factsMax {
            count += facts[end].count
            end += 1
        }
        var slice = batch
        slice.from = vector
        for transaction in batch.transactions[start..<end] {
            vector.advance(to: transaction.header.dot)
        }
        // After the last transaction there may be collected ones.
        if end == facts.count { vector.join(batch.upTo) }
        slice.upTo = vector
        slice.transactions = Array(batch.transactions[start..<end])
        slice.facts = Array(facts[start..<end].joined())
        start = end
        return slice
    }
}
