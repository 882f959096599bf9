import SyncMerge

/// The CHECKs that simulated schemas use, each over two columns or twice the same.
package enum SimulatedCheck: Sendable {
    /// The first is at most the second.
    case ordered
    /// The two differ.
    case differ
    /// The first is there, or the second is 0.
    case present
    /// The letters of the first are in lower case, whatever its collation.
    case lower

    /// The condition as SQL.
    func sql(_ first: String, _ second: String) -> String {
        switch self {
        case .ordered: return "\(first)<=\(second)"
        case .differ: return "\(first)<>\(second)"
        case .present: return "\(first) IS NOT NULL OR \(second)=0"
        case .lower: return "\(first)=lower(\(first)) COLLATE BINARY"
        }
    }

    /// Whether SQLite would accept the two values.
    /// - Parameter collation: that of the first column, by which SQLite compares the two.
    package func accepts(_ fields: [Field], comparedBy collation: Collation) -> Bool {
        switch self {
        case .ordered:
            guard case .value(.integer(let low)) = fields[0],
                case .value(.integer(let high)) = fields[1]
            else { return true }
            return low <= high
        case .differ:
            if fields[0].isNull || fields[1].isNull { return true }
            guard case .value(let left) = fields[0], case .value(let right) = fields[1] else {
                return fields[0] != fields[1]
            }
            return collation.folded(left) != collation.folded(right)
        case .present: return !fields[0].isNull || fields[1] == .value(0)
        case .lower:
            guard case .value(.text(let text)) = fields[0] else { return true }
            return text == Collation.lowercased(text)
        }
    }
}
