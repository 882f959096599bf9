import SyncMerge
import SyncValues

/// What merging did to the numbers of rows: where each row with a shared number was and is.
struct KeyMoves {
    /// The keys that rows have left, with the new key of each; nil: the row is gone.
    private var left: [RowKey: RowKey?] = [:]
    /// For the new key of a row that has another one: its former key.
    private var former: [RowKey: RowKey] = [:]

    /// Nothing has moved.
    init() {}

    /// Adds a row.
    mutating func add(from old: RowKey, to new: RowKey?) {
        if new == old { return }
        left[old] = .some(new)
        guard let new else { return }
        if let known = former[new], known.precedes(old) { return }
        former[new] = old
    }

    /// Whether the row that had a key has it no longer: another row may have it now.
    func hasLeft(_ key: RowKey) -> Bool { left[key] != nil }

    /// The key that the row has now which had this one; nil when it is gone, or has it still.
    func newKey(of key: RowKey) -> RowKey? { left[key] ?? nil }

    /// The key that the row had which has this one now; nil when it is new, or had it already.
    func formerKey(of key: RowKey) -> RowKey? { former[key] }
}
