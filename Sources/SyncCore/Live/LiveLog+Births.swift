/// The incarnation of an object is the transaction that inserted it. A look that leaves a part of
/// the log to the history tables does not see the inserts in it; what later looks tell has to name
/// them.
extension LiveLog {
    /// More log rows than this are not read for their inserts alone: the live connection
    /// is held meanwhile.
    static let birthRowsMax: Int64 = 50_000

    /// Notes the inserts up to `seen` that no look has noted, of the transactions after
    /// `digested`.
    ///
    /// - Returns: whether the inserts up to there are known now. Where they are not, what follows
    ///   is left to the history tables, too, until these have them.
    /// - Complexity: O(log rows whose inserts are not known); nothing where all are, as nearly
    ///   always.
    func findBirths(after digested: Int64, in boundaries: [Boundary]) throws -> Bool {
        let known = max(digested, resolver.births.end)
        guard known < seen else { return true }
        guard lastLarge <= digested, seen - known <= Self.birthRowsMax else { return false }
        let passed = boundaries.filter { $0.last > known && $0.last <= seen }
        try assembler.forEach(after: known, in: passed) { transaction in
            if transaction.unassembled != nil { lastLarge = transaction.number }
            guard transaction.unassembled == nil else { return false }
            resolver.births.note(transaction)
            return true
        }
        guard lastLarge <= digested else { return false }
        resolver.births.complete(upTo: seen)
        return true
    }
}
