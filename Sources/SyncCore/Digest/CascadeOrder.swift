import SyncValues

/// Puts parents before the objects that their deletes took along.
///
/// SQLite logs a cascade's children before their parent. The parent's row, however, was removed
/// before them: its change is moved up to where its delete began, or to the first change of its
/// children, where the transaction had changed one of them before. Nothing is ever moved down, so
/// that no delete comes behind an insert that needs its key or its UNIQUE values; and no delete is
/// moved up past an earlier change of its own key. Where that is in the way, the child stays first.
enum CascadeOrder {
    /// The drafts that changed something, in the order in which they are told.
    ///
    /// - Complexity: O(n * log(n)) where there are cascades, else O(n).
    static func arrange(_ drafts: [TransactionBuilder.Draft]) -> [TransactionBuilder.Draft] {
        let told = drafts.indices.filter { drafts[$0].state != .nothing }
        let isParent = Set(told.compactMap { drafts[$0].parent })
        guard !isParent.isEmpty else { return told.map { drafts[$0] } }

        let places = places(of: drafts, isParent: isParent)
        // Of a parent and a child in one place, the parent's delete ended later.
        let order = told.sorted {
            (places[$0], -drafts[$0].end) < (places[$1], -drafts[$1].end)
        }
        let seqs = told.map { drafts[$0].seq }.sorted()
        return zip(order, seqs).map { index, seq in
            var draft = drafts[index]
            draft.seq = seq
            return draft
        }
    }

    /// The place of each draft: a seq.
    private static func places(
        of drafts: [TransactionBuilder.Draft], isParent: Set<Int>
    ) -> [Int64] {
        var places = drafts.map(\.seq)
        var firstChild: [Int: Int64] = [:]
        var previous: [Int: Int64] = [:]
        var latest: [EntityKey: Int64] = [:]
        for (index, draft) in drafts.enumerated() where draft.state != .nothing {
            let name = EntityKey(entity: draft.entity.lineage, key: draft.key)
            if isParent.contains(index) { previous[index] = latest[name] }
            latest[name] = draft.seq
        }
        // What a delete takes along ends before it does: children have their place first.
        let deletes = drafts.indices.filter { drafts[$0].state == .deleted }
        for index in deletes.sorted(by: { drafts[$0].end < drafts[$1].end }) {
            if isParent.contains(index) {
                let begun = drafts[index].begun ?? drafts[index].end
                let first = min(begun, firstChild[index] ?? begun)
                let isFree = previous[index].map { $0 < first } ?? true
                places[index] = min(places[index], isFree ? first : begun)
            }
            guard let parent = drafts[index].parent else { continue }
            firstChild[parent] = min(firstChild[parent] ?? .max, places[index])
        }
        return places
    }
}
