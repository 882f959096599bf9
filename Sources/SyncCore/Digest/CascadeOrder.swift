import SyncStorage

/// Finds which deletes are foreign-key cascades of which, and puts parents first.
///
/// SQLite logs a cascade's children before their parent, in one statement. A delete is taken for a
/// cascade when a declared `ON DELETE CASCADE` of its entity leads, by the values that were
/// kept, to an object that the same statement deleted after it. The time stamp of the statement
/// distinguishes it from a program that deleted children and parent one by one.
enum CascadeOrder {
    static func arrange(
        _ drafts: [TransactionBuilder.Draft]
    ) -> [TransactionBuilder.Draft] {
        guard drafts.count > 1 else { return drafts }
        var deleted: [ObjectName: Int] = [:]
        var mayCascade = false
        for (index, draft) in drafts.enumerated() where draft.state == .deleted {
            deleted[ObjectName(entity: draft.entity.folded, key: draft.key)] = index
            mayCascade = mayCascade || !draft.entity.cascades.isEmpty
        }
        guard mayCascade, deleted.count > 1 else { return drafts }

        var result = drafts
        var children: [Int: [Int]] = [:]
        for index in drafts.indices {
            guard let parent = parent(of: index, in: drafts, deleted) else { continue }
            result[index].cause = .cascade(
                entity: drafts[parent].entity.id, key: drafts[parent].key)
            children[parent, default: []].append(index)
        }
        return children.isEmpty ? drafts : ordered(result, children: children)
    }

    private static func parent(
        of index: Int, in drafts: [TransactionBuilder.Draft], _ deleted: [ObjectName: Int]
    ) -> Int? {
        let draft = drafts[index]
        guard draft.state == .deleted, draft.cause == .direct, let time = draft.time else {
            return nil
        }
        for cascade in draft.entity.cascades {
            guard let key = draft.entity.reference(cascade, key: draft.key, kept: draft.kept),
                let parent = deleted[ObjectName(entity: SQLName.folded(cascade.parent), key: key)],
                parent > index, drafts[parent].time == time
            else { continue }
            return parent
        }
        return nil
    }

    /// Parents before their children, children in their own order; the seqs, sorted, are dealt out
    /// again.
    private static func ordered(
        _ drafts: [TransactionBuilder.Draft], children: [Int: [Int]]
    ) -> [TransactionBuilder.Draft] {
        let isChild = Set(children.values.joined())
        var result: [TransactionBuilder.Draft] = []
        result.reserveCapacity(drafts.count)
        for root in drafts.indices where !isChild.contains(root) {
            var stack = [root]
            while let index = stack.popLast() {
                result.append(drafts[index])
                stack += (children[index] ?? []).reversed()
            }
        }
        let seqs = drafts.map(\.seq).sorted()
        for index in result.indices { result[index].seq = seqs[index] }
        return result
    }
}
