/// A column of a group.
struct GroupColumn: Hashable {
    let group: Int
    let column: Int
}
