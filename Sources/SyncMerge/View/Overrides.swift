/// Rule 4, last part: where a reference's target is not shown, the reference is overridden: it is
/// shown as NULL or as its default (SET NULL, SET DEFAULT). A row for which neither is legal is
/// orphaned and has to be hidden.
struct Overrides {
    /// What is shown in place of the state's value.
    private(set) var fields: [GroupColumn: Field] = [:]
    /// Groups with a reference that has no legal value.
    private(set) var orphaned: [Int] = []

    init(_ grouping: Grouping, state: MergeState, isShown: [Bool]) {
        let former = state.formerRows?.shown ?? []
        func wasShown(_ group: Group) -> Bool { group.members.contains(where: former.contains) }
        for (position, group) in grouping.groups.enumerated() where isShown[position] {
            let entity = state.schema.entities[group.entity]
            for edge in group.edges where edge.kind == .null || edge.kind == .fallback {
                if let target = edge.target, isShown[target] { continue }
                let columns = entity.references[edge.reference].columns
                if edge.kind == .fallback, let fallback = edge.fallback, isShown[fallback] {
                    for (part, column) in columns.enumerated() {
                        fields[GroupColumn(group: position, column: column)] =
                            .reference(grouping.groups[fallback].name, part: part)
                    }
                } else if entity.isNullable(columns) || wasShown(group) {
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
