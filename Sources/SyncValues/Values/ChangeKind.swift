/// What a transaction did to an object. The raw values are part of the file format and of the batch
/// format.
public enum ChangeKind: Int, Sendable, Hashable, CaseIterable {
    /// The object was created.
    case insert = 1
    /// Properties of the object were written.
    case update = 2
    /// The object was deleted.
    case delete = 3

    /// `insert`, `update` or `delete`, as in JSON.
    public var name: String {
        switch self {
        case .insert: return "insert"
        case .update: return "update"
        case .delete: return "delete"
        }
    }

    /// Reads ``name``.
    public init?(name: String) {
        guard let kind = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = kind
    }
}
