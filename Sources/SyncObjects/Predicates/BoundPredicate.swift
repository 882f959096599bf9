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

/// A step over a relationship, from the entity that has it.
struct BoundRelation {
    let source: EntityLayout
    let index: Int
    let destination: EntityLayout

    var relation: EntityLayout.Relation { source.relations[index] }
}

/// To-one steps from the object in question.
typealias BoundPath = [BoundRelation]

/// How the two sides of a comparison are compared.
enum BoundKind: Equatable {
    case number
    /// Text by its bytes.
    case text
    /// Ordered as numbers, equal as text.
    case decimal
    case blob
    case reference
    case any
}

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
    /// Never a value.
    var isNull: Bool {
        if case .value(.null, _) = self { return true }
        return false
    }
}

/// What is computed over the objects of a to-many relationship.
enum BoundAggregate: String {
    case sum = "@sum"
    case average = "@avg"
    case minimum = "@min"
    case maximum = "@max"

    var sql: String {
        switch self {
        case .sum: return "sum"
        case .average: return "avg"
        case .minimum: return "min"
        case .maximum: return "max"
        }
    }
}

extension BoundPredicate {
    /// The entities that the predicate looks at beyond the object itself.
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

extension BoundPath {
    var visited: Set<String> { Set(map(\.destination.root)) }
}
