/// One side of a comparison.
public indirect enum PredicateTerm: Sendable, Hashable {
    /// A value.
    case constant(PredicateConstant)
    /// `title`, `group.title`, `tasks.@count`; the object itself when empty.
    case keyPath([String])
    /// How many objects the relationship at a path leads to that satisfy a predicate.
    case count(path: [String], FetchPredicate)
    /// The first, or the second when that is nil.
    case coalesce(PredicateTerm, PredicateTerm)
    /// The term where the predicate holds; nil where it does not.
    case when(FetchPredicate, PredicateTerm)
}
