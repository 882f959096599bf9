import SyncValues

/// A declared reference from one table's columns to another's.
public struct ForeignKeySchema: Sendable, Hashable {
    /// What happens to the children.
    public enum Action: String, Sendable, Hashable, Codable {
        case noAction = "NO ACTION"
        case restrict = "RESTRICT"
        case setNull = "SET NULL"
        case setDefault = "SET DEFAULT"
        case cascade = "CASCADE"
    }

    /// The columns of the child, in the order of the declaration.
    public var columns: [String]
    /// The table referred to, as the declaration spells it; it need not exist.
    public var parent: String
    /// The columns referred to; empty when the declaration leaves them out (the parent's key).
    public var parentColumns: [String]
    /// When the parent's key changes.
    public var onUpdate: Action
    /// When the parent is deleted.
    public var onDelete: Action
}
