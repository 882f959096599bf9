import SyncCore

/// An object as predicates see it.
protocol PredicateSubject {
    /// The stored form of a slot's present value.
    func value(atSlot slot: Int) -> Value
    /// What a reference to this object holds.
    var reference: Value { get }
    /// The object that a to-one relationship leads to.
    func target(ofRelation relation: Int) -> (any PredicateSubject)?
    /// The objects that a to-many relationship leads to.
    func members(ofRelation relation: Int) -> [any PredicateSubject]
}
