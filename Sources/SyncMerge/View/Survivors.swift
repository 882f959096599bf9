/// Rules 3 and 4: which groups are shown (survive the cascades).
///
/// The result is a fixpoint: the *greatest* set of living groups that no cascade removes, with the
/// *least* set of deleted groups that hard references of shown rows require (they are *pinned*).
/// Both operators are monotone, so the result does not depend on the order of the work: dead cycles
/// do not keep each other alive, living cycles are not removed.
struct Survivors {
    /// Whether each group is shown.
    var isShown: [Bool]
    /// Whether each group is shown although it is deleted.
    var isRevived: [Bool]

    /// Computes the groups that are shown.
    /// - Parameter forced: groups that are hidden as the last resort.
    /// - Complexity: O(groups + edges) for each round; a round removes at least one more group.
    init(_ grouping: Grouping, forced: [Bool]) {
        let groups = grouping.groups
        let isOut = Self.missingTarget(groups, forced: forced)
        var isLiving = groups.indices.map {
            groups[$0].isAlive && groups[$0].isComplete && !isOut[$0]
        }
        while true {
            let isPinned = Self.pinned(groups, isLiving: isLiving)
            let isShown = groups.indices.map { isLiving[$0] || isPinned[$0] }
            let victims = groups.indices.filter { position in
                isLiving[position] && !isPinned[position]
                    && groups[position].edges.contains { edge in
                        edge.kind == .weak && !(edge.target.map { isShown[$0] } ?? false)
                    }
            }
            if victims.isEmpty {
                self.isShown = isShown
                isRevived = groups.indices.map { isShown[$0] && !groups[$0].isAlive }
                return
            }
            for position in victims { isLiving[position] = false }
        }
    }

    /// Rule 3: a group is not shown when a target that it requires is absent.
    static func missingTarget(_ groups: [Group], forced: [Bool]) -> [Bool] {
        var isOut = forced
        var holders: [[Int]] = Array(repeating: [], count: groups.count)
        var work = groups.indices.filter { isOut[$0] }
        for position in groups.indices {
            for edge in groups[position].edges where edge.kind == .hard || edge.kind == .weak {
                if let target = edge.target {
                    holders[target].append(position)
                } else if !isOut[position] {
                    isOut[position] = true
                    work.append(position)
                }
            }
        }
        while let position = work.popLast() {
            for holder in holders[position] where !isOut[holder] {
                isOut[holder] = true
                work.append(holder)
            }
        }
        return isOut
    }

    /// The groups that hard references of living groups require, and what these require in turn: a
    /// deleted row that is shown again pins its own cascade parents, because in SQLite their delete
    /// would have failed.
    private static func pinned(_ groups: [Group], isLiving: [Bool]) -> [Bool] {
        var isPinned = [Bool](repeating: false, count: groups.count)
        var work = groups.indices.filter { isLiving[$0] }.map { (position: $0, isHeld: false) }
        while let (position, isHeld) = work.popLast() {
            for edge in groups[position].edges {
                guard edge.kind == .hard || (edge.kind == .weak && isHeld),
                    let target = edge.target, !isPinned[target]
                else { continue }
                isPinned[target] = true
                work.append((target, true))
            }
        }
        return isPinned
    }
}
