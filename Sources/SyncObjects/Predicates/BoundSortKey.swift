import SyncCore

/// A sort key looked up in a model.
struct BoundSortKey {
    let term: BoundTerm
    let isAscending: Bool
    let options: FetchPredicate.TextOptions

    init(_ key: SortKey, entity: EntityLayout, model: ManagedObjectModel) throws {
        term = try PredicateBinder(model: model).term(.keyPath(key.path), in: entity, like: nil)
        isAscending = key.isAscending
        options = key.options
    }

    func value(_ subject: any PredicateSubject) -> Value {
        let value = PredicateEvaluator.value(of: term, for: subject)
        guard !options.isEmpty, case .text(let text) = value else { return value }
        return .text(TextMatching.folded(text, options: options))
    }

    /// Below 0 when an object with the left value comes first.
    func order(of left: Value, and right: Value) -> Int {
        let order = PredicateEvaluator.order(of: left, and: right, as: term.kind)
        return isAscending ? order : -order
    }
}
