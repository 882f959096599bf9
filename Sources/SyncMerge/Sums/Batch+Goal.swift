import SyncValues

extension Batch {
    /// Batches of version 1 with fewer facts than this, or fewer transactions than the other limit,
    /// are the last of those that were made together, unless one transaction with more than half of
    /// the facts of a batch follows.
    private static let likelyFactsMax = 50_000
    private static let transactionsMax = 20_000

    /// What a receiver has merged after the last of the batches that were made together. A batch of
    /// version 1 does not state it: where it may not be the last one, it is something later of its
    /// sender.
    package var likelyGoal: VersionVector {
        if let goal { return goal }
        let isLast = hasGaps || proofs[sender] != nil
        if isLast || factCount < Self.likelyFactsMax && transactions.count < Self.transactionsMax {
            return upTo
        }
        var goal = upTo
        let newest = upTo[sender]
        if newest < .max { goal.advance(to: Dot(sender, newest + 1)) }
        return goal
    }
}
