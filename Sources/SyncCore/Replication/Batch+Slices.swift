extension Batch {
    /// Batches with more facts than this are merged in slices.
    static let wholeFactsMax = 5_000
    /// Facts of a slice, unless one transaction has more: a slice holds writers up for as long as
    /// it takes. Smaller ones load what is in trouble more often.
    static let sliceFactsMax = 1_000

    /// The batch as a row of smaller ones that lead to the same: cuts between transactions, in
    /// their order, so that each slice is a causal cut.
    ///
    /// An object that one slice creates and a later one completes is not shown in between.
    /// - Complexity: O(facts)
    var slices: [Batch] {
        guard facts.count > Self.wholeFactsMax else { return [self] }
        var places: [Dot: Int] = [:]
        for (place, transaction) in transactions.enumerated() {
            places[transaction.header.dot] = place
        }
        var byPlace: [[Fact]] = Array(repeating: [], count: transactions.count)
        for fact in facts {
            if let place = places[fact.dot] { byPlace[place].append(fact) }
        }
        var slices: [Batch] = []
        var start = 0
        var vector = from
        while start < transactions.count {
            var end = start + 1
            var count = byPlace[start].count
            while end < transactions.count, count + byPlace[end].count <= Self.sliceFactsMax {
                count += byPlace[end].count
                end += 1
            }
            var slice = self
            slice.from = vector
            for transaction in transactions[start..<end] {
                vector.advance(to: transaction.header.dot)
            }
            slice.upTo = vector
            slice.transactions = Array(transactions[start..<end])
            slice.facts = Array(byPlace[start..<end].joined())
            slices.append(slice)
            start = end
        }
        return slices
    }
}
