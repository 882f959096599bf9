/// A query: the rows of an entity that satisfy a condition, in an order.
struct ObjectQuery {
    let entity: EntityLayout
    var includesSubentities = true
    var predicate: BoundPredicate?
    var sort: [BoundSortKey] = []
    var limit: Int?
    var offset = 0
    /// Only rows with these keys.
    var keys: [ManagedObjectKey]?
}
