import SyncCore

/// One key of a sort order: a property and a direction.
public struct SortKey: Sendable, Hashable {
    /// The property, or a path to one over to-one relationships.
    public var path: [String]
    /// Ascending order. Nil comes first.
    public var isAscending: Bool
    /// What comparisons of text ignore.
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
