/// The list of groups, as lines of text.
struct GroupListView {
    let groups: [TodoGroup]

    var lines: [String] {
        if groups.isEmpty { return ["No groups. Make one: group TITLE"] }
        return groups.enumerated().map { place, group in
            "\(place + 1). \(group.title) (\(group.openTasks) open)"
        }
    }
}
