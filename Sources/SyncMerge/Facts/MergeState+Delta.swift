extension MergeState {
    /// What a replica that has merged `since` is missing.
    /// - Parameter count: how many of our transactions, in the order merged here, to send at most:
    ///   a prefix of that order is always a causal cut. Any other subset is not, and would leave a
    ///   gap that no replica detects.
    /// - Complexity: linear in the objects of the state.
    package func delta(since: VersionVector, first count: Int? = nil) -> Delta {
        let sent = order.prefix(count ?? order.count).filter { !since.covers($0) }
        let dots = Set(sent)
        var facts: [Fact] = []
        for (uid, record) in objects.sorted(by: { $0.key < $1.key }) {
            for life in record.life where dots.contains(life.dot) {
                facts.append(.life(uid, entity: record.entity, life))
            }
            for (cell, versions) in record.cells.enumerated() {
                for version in versions where dots.contains(version.dot) {
                    facts.append(.cell(uid, entity: record.entity, cell: cell, version))
                }
            }
        }
        for (pair, dot) in aliases.sorted(by: { $0.key < $1.key }) where dots.contains(dot) {
            facts.append(.alias(pair.first, pair.second, dot))
        }
        return Delta(since: since, headers: sent.compactMap { headers[$0] }, facts: facts)
    }

    /// Merges a delta. Merging it again, or after a later one, changes nothing.
    ///
    /// Facts of transactions that were covered before are skipped: they are here, or were
    /// overwritten, or were collected. Joined again, they would bring collected objects back.
    /// - Returns: false, and nothing is merged, when the delta starts after what is here: merged,
    ///   it would make the vector skip a gap permanently. Request again, from `vector`.
    package mutating func merge(_ delta: Delta) -> Bool {
        guard vector.covers(delta.since) else { return false }
        let merged = vector
        for header in delta.headers { insert(header) }
        for fact in delta.facts where !merged.covers(fact.dot) { insert(fact) }
        return true
    }
}
