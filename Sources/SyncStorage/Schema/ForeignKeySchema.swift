/// A declared reference from one table's columns to another's.
package struct ForeignKeySchema: Sendable, Hashable {
    /// What happens to the children.
    package enum Action: String, Sendable, Hashable, Codable {
        case noAction = "NO ACTION"
        case restrict = "RESTRICT"
        case setNull = "SET NULL"
        case setDefault = "SET DEFAULT"
        case cascade = "CASCADE"
    }

    /// The columns of the child, in the order of the declaration.
    package var columns: [String]
    /// The table referred to, as the declaration spells it; it need not exist.
    package var parent: String
    /// The columns referred to; empty when the declaration leaves them out (the parent's key).
    package var parentColumns: [String]
    /// When the parent's key changes.
    package var onUpdate: Action
    /// When the parent is deleted.
    package var onDelete: Action
}
