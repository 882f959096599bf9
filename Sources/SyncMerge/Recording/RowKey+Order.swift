import SyncValues

extension RowKey {
    /// Whether the key comes before another one: by entity, then by values; an order that does not
    /// depend on how rows were read.
    /// - Complexity: O(columns)
    package func precedes(_ other: RowKey) -> Bool {
        if entity != other.entity { return entity < other.entity }
        for (left, right) in zip(values, other.values) {
            if left == right { continue }
            if case .integer(let left) = left, case .integer(let right) = right {
                return left < right
            }
            return left.description < right.description
        }
        return values.count < other.values.count
    }
}
