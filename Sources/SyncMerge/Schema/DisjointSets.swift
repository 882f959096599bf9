import SyncValues

/// Disjoint sets of comparable names; the least name of a set is its root, whatever the order of
/// the unions.
struct Forest<Name: Hashable & Comparable> {
    private var parents: [Name: Name] = [:]

    /// The least name of the set.
    func root(_ name: Name) -> Name {
        var name = name
        while let parent = parents[name] { name = parent }
        return name
    }

    /// Makes one set of two.
    mutating func unite(_ left: Name, _ right: Name) {
        let left = root(left)
        let right = root(right)
        if left < right { parents[right] = left }
        if right < left { parents[left] = right }
    }
}
