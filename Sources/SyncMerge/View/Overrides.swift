import SyncValues

/// A column of a group.
struct GroupColumn: Hashable {
    let group: Int
    let column: Int
}

/// Rule 4, last part: references shown as NULL or as their default, because their target is not
/// shown.
struct Overrides {
    /// What is shown in place of the state's value.
    private(set) var fields: [GroupColumn: Field] = [:]
    /// Groups with a reference that has no legal value.
    private(set) var orphaned: [Int] = []

    init(_ grouping: Grouping, _ schema: MergeSchema, isShown: [Bool]) {
        for (position, group) in grouping.groups.enumerated() where isShown[position] {
            let entity = schema.entities[group.entity]
            for edge in group.edges where edge.kind == .null || edge.kind == .fallback {
                if let target = edge.target, isShown[target] { continue }
                let columns = entity.references[edge.reference].columns
                if edge.kind == .fallback, let fallback = edge.fallback, isShown[fallback] {
                    for (part, column) in columns.enumerated() {
                        fields[GroupColumn(group: position, column: column)] =
                            .reference(grouping.groups[fallback].name, part: part)
                    }
                } else if entity.isNullable(columns) {
                    for column in columns {
                        fields[GroupColumn(group: position, column: column)] = .value(.null)
                    }
                } else {
                    orphaned.append(position)
                }
            }
        }
    }
}
