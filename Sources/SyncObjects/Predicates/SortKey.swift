import SyncCore

/// One step of an order: a property, and which way.
public struct SortKey: Sendable, Hashable {
    /// The property, or a path to one over to-one relationships.
    public var path: [String]
    /// Smallest first. Nil comes before everything.
    public var isAscending: Bool
    /// What comparisons of text look away from.
    public var options: FetchPredicate.TextOptions

    /// Orders by `property`: a name, or names with dots between them.
    public init(
        _ property: String, ascending: Bool = true, options: FetchPredicate.TextOptions = []
    ) {
        path = property.split(separator: ".").map(String.init)
        isAscending = ascending
        self.options = options
    }
}

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
