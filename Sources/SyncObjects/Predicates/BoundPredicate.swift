import SyncCore

/// A predicate whose names and values were looked up in a model: what SQL and memory both work
/// from.
indirect enum BoundPredicate {
    case constant(Bool)
    case and([BoundPredicate])
    case or([BoundPredicate])
    case not(BoundPredicate)
    case compare(BoundTerm, FetchPredicate.Operator, BoundTerm, FetchPredicate.TextOptions)
    case isIn(BoundTerm, [Value], FetchPredicate.TextOptions)
    case exists(BoundPath, BoundRelation, BoundPredicate)
}

extension BoundPredicate {
    /// The entities that the predicate refers to beyond the object itself.
    var visited: Set<String> {
        switch self {
        case .constant: return []
        case .and(let parts), .or(let parts):
            return parts.reduce(into: []) { $0.formUnion($1.visited) }
        case .not(let inner): return inner.visited
        case .compare(let left, _, let right, _): return left.visited.union(right.visited)
        case .isIn(let term, _, _): return term.visited
        case .exists(let path, let relation, let inner):
            return inner.visited.union(path.visited).union([relation.destination.root])
        }
    }
}
