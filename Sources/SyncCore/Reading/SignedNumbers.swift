import SyncStorage

/// The numbers of the transactions of some authors, in a query's order: for each author with a
/// context and a process name one walk along the index, all of them merged. A rare author in a long
/// history is found at once, and of a frequent one no more is read than is asked for.
final class SignedNumbers {
    /// With more names than this every transaction is read.
    private static let walksMax = 64

    private struct Walk {
        let numbers: Statement
        var head: Int64?
    }

    private var walks: [Walk] = []
    private let reverse: Bool

    /// Nil where a query does not ask for authors, or for too many.
    init?(_ connection: OpaquePointer, matching query: HistoryQuery, in range: NumberRange) throws {
        guard !query.authors.isEmpty else { return nil }
        reverse = query.reverse
        let find = try Statement(TransactionTable.authorIDsSQL, on: connection)
        var ids: Set<Int64> = []
        for author in query.authors {
            find.bind(author, at: 1)
            while ids.count <= Self.walksMax, try find.step() { ids.insert(find.integer(0)) }
            find.reset()
        }
        guard ids.count <= Self.walksMax else { return nil }
        for id in ids {
            let numbers = try Statement(
                TransactionTable.numbersSQL(reverse: reverse), on: connection)
            range.bind(to: numbers)
            numbers.bind(id, at: 3)
            walks.append(Walk(numbers: numbers, head: try Self.step(numbers)))
        }
    }

    private static func step(_ numbers: Statement) throws -> Int64? {
        try numbers.step() ? numbers.integer(0) : nil
    }

    /// The next number; nil at the end.
    ///
    /// - Complexity: O(walks)
    func next() throws -> Int64? {
        var best: Int?
        for (index, walk) in walks.enumerated() {
            guard let head = walk.head else { continue }
            guard let other = best.flatMap({ walks[$0].head }) else {
                best = index
                continue
            }
            if reverse ? head > other : head < other { best = index }
        }
        guard let best else { return nil }
        let number = walks[best].head
        walks[best].head = try Self.step(walks[best].numbers)
        return number
    }
}
