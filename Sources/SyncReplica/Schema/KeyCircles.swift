/// Tables whose primary keys are references to each other in a circle.
///
/// The identity of a row whose key refers to another row is made of that row's identity: none of a
/// circle could be the first. Each table has at most one reference that covers its key, because
/// references share no columns; and only such references close a circle, because a reference has as
/// many columns as the key of its target.
struct KeyCircles {
    /// The position of the table that the whole key of a table refers to.
    let targets: [Int: Int]

    /// The tables from `position` back to it; nil when its key leads elsewhere.
    /// - Complexity: O(tables)
    func circle(from position: Int) -> [Int]? {
        var path = [position]
        while let next = targets[path[path.count - 1]], path.count <= targets.count {
            if next == position { return path }
            path.append(next)
        }
        return nil
    }
}
