import SyncValues

/// How a row of the user's tables changes.
struct RowDifference {
    /// The values before; nil for a new row.
    let before: [Value]?
    /// The values after; nil for a deleted row.
    let after: [Value]?
    /// Whether the row after is of another object, which has the private number of the deleted one.
    var isReplaced = false

    /// The columns that differ.
    var columns: [Int] {
        guard let before, let after else { return [] }
        return before.indices.filter { before[$0] != after[$0] }
    }
}
