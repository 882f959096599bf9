/// Disjoint sets of comparable names (union-find); the least name of a set is its root, whatever
/// the order of the unions.
struct DisjointSets<Name: Hashable & Comparable> {
    private var parents: [Name: Name] = [:]

    /// The least name of the set.
    func root(of name: Name) -> Name {
        var name = name
        while let parent = parents[name] { name = parent }
        return name
    }

    /// Replaces two sets by their union.
    mutating func union(_ left: Name, with right: Name) {
        let left = root(of: left)
        let right = root(of: right)
        if left < right { parents[right] = left }
        if right < left { parents[left] = right }
    }
}
