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

extension RowKey {
    /// Whether SQLite returns the row of the key before that of another one, ordered by entity and
    /// by the key as it is spelled: numbers, text by its bytes, blobs.
    /// - Complexity: O(length of the values)
    package func comesBefore(_ other: RowKey) -> Bool {
        if entity != other.entity { return entity < other.entity }
        for (left, right) in zip(values, other.values) {
            if left.comesBefore(right) { return true }
            if right.comesBefore(left) { return false }
        }
        return values.count < other.values.count
    }
}

extension Value {
    /// Whether SQLite orders the value before another one, by the collation BINARY.
    fileprivate func comesBefore(_ other: Value) -> Bool {
        switch (self, other) {
        case (.integer(let left), .integer(let right)): return left < right
        case (.real(let left), .real(let right)): return left < right
        case (.integer(let left), .real(let right)): return Self.isLess(left, than: right)
        case (.real(let left), .integer(let right)):
            return Double(exactly: right) != left && !Self.isLess(right, than: left)
        case (.text(let left), .text(let right)):
            return left.utf8.lexicographicallyPrecedes(right.utf8)
        case (.blob(let left), .blob(let right)): return left.lexicographicallyPrecedes(right)
        default: return storageClass < other.storageClass
        }
    }

    private var storageClass: Int {
        switch self {
        case .null: return 0
        case .integer, .real: return 1
        case .text: return 2
        case .blob: return 3
        }
    }

    private static func isLess(_ integer: Int64, than real: Double) -> Bool {
        if real >= 0x1p63 { return true }
        if real < -0x1p63 { return false }
        let whole = Int64(real.rounded(.down))
        return integer < whole || integer == whole && Double(whole) < real
    }
}
