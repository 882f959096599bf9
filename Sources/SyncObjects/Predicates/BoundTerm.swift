import SyncCore

/// One side of a comparison.
indirect enum BoundTerm {
    case value(Value, BoundKind)
    case slot(BoundPath, EntityLayout, Int, BoundKind)
    /// The key of the object at the end of the path.
    case key(BoundPath, EntityLayout)
    case count(BoundPath, BoundRelation, BoundPredicate?)
    case aggregate(BoundPath, BoundRelation, BoundAggregate, slot: Int, BoundKind)
    case coalesce(BoundTerm, BoundTerm)
    case when(BoundPredicate, BoundTerm)

    var kind: BoundKind {
        switch self {
        case .value(_, let kind), .slot(_, _, _, let kind): return kind
        case .key: return .reference
        case .count: return .number
        case .aggregate(_, _, let function, _, let kind):
            return function == .sum || function == .average ? .number : kind
        case .coalesce(let first, let second): return first.isNull ? second.kind : first.kind
        case .when(_, let term): return term.kind
        }
    }
}

extension BoundTerm {
    /// Whether SQLite computes the term as a floating point number although it is a decimal: then
    /// it equals no stored decimal, which is text.
    var isComputedDecimal: Bool {
        switch self {
        case .aggregate: return kind == .decimal
        case .coalesce(let first, let second):
            return first.isComputedDecimal || second.isComputedDecimal
        case .when(_, let term): return term.isComputedDecimal
        case .value, .slot, .key, .count: return false
        }
    }

    /// Never a value.
    var isNull: Bool {
        if case .value(.null, _) = self { return true }
        return false
    }
}

extension BoundTerm {
    var visited: Set<String> {
        switch self {
        case .value: return []
        case .slot(let path, _, _, _), .key(let path, _): return path.visited
        case .count(let path, let relation, let inner):
            return path.visited.union([relation.destination.root]).union(inner?.visited ?? [])
        case .aggregate(let path, let relation, _, _, _):
            return path.visited.union([relation.destination.root])
        case .coalesce(let first, let second): return first.visited.union(second.visited)
        case .when(let condition, let term): return condition.visited.union(term.visited)
        }
    }
}
