/// Cells of which some versions state a part: ``Version/isPartial``. Whatever is asked of such a
/// cell is asked of each of its columns alone, as if it was a cell; where all versions are whole,
/// that is the same.
extension MergeState {
    /// What several versions of a cell show together: one of them, or, where some state a part, of
    /// each column what ``chosen(from:policy:dot:name:)`` says.
    /// - Returns: the version that is shown, or one of those that are, as `chosen` says; nil while
    ///   nothing is stated of a column.
    /// - Complexity: O(versions of the cell, squared, times its columns)
    func shown<Item, Name: Comparable>(
        of items: [Item], policy: CellPolicy, dot: (Item) -> Dot, name: (Item) -> Name,
        value: (Item) -> [Field]
    ) -> (source: Item, value: [Field])? {
        guard let first = items.first else { return nil }
        guard items.contains(where: { value($0).contains(.unstated) }) else {
            let chosen = chosen(from: items, policy: policy, dot: dot, name: name)
            return (chosen, value(chosen))
        }
        var fields: [Field] = []
        var sources: [Item] = []
        for place in value(first).indices {
            let stating = items.filter { value($0)[place] != .unstated }
            if stating.isEmpty { return nil }
            let source = chosen(from: stating, policy: policy, dot: dot, name: name)
            sources.append(source)
            fields.append(value(source)[place])
        }
        return (chosen(from: sources, policy: policy, dot: dot, name: name), fields)
    }

    /// The fields that versions of one object show together in a cell; nil while nothing is stated
    /// of a column.
    package func shownValue(of versions: [Version], policy: CellPolicy) -> [Field]? {
        shown(of: versions, policy: policy, dot: \.dot, name: \.dot, value: literal)?.value
    }
}

extension ObjectRecord {
    /// Whether a version states a part of its cell.
    package var hasParts: Bool { cells.contains { $0.contains(where: \.isPartial) } }

    /// Whether something is stated of each column of each cell.
    package var isWhole: Bool {
        cells.allSatisfy { versions in
            guard let first = versions.first else { return false }
            return !first.isPartial
                || first.value.indices.allSatisfy { place in
                    versions.contains { $0.value[place] != .unstated }
                }
        }
    }
}
