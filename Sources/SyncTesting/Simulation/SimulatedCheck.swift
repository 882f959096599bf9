import SyncMerge

/// The CHECKs that simulated schemas use, each over two columns.
package enum SimulatedCheck: Sendable {
    /// The first is at most the second.
    case ordered
    /// The two differ.
    case differ
    /// The first is there, or the second is 0.
    case present

    /// The condition as SQL.
    func sql(_ first: String, _ second: String) -> String {
        switch self {
        case .ordered: return "\(first)<=\(second)"
        case .differ: return "\(first)<>\(second)"
        case .present: return "\(first) IS NOT NULL OR \(second)=0"
        }
    }

    /// Whether SQLite would accept the two values.
    package func accepts(_ fields: [Field]) -> Bool {
        switch self {
        case .ordered:
            guard case .value(.integer(let low)) = fields[0],
                case .value(.integer(let high)) = fields[1]
            else { return true }
            return low <= high
        case .differ: return fields[0].isNull || fields[1].isNull || fields[0] != fields[1]
        case .present: return !fields[0].isNull || fields[1] == .value(0)
        }
    }
}
