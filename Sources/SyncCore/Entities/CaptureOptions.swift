/// How one entity is recorded.
public struct CaptureOptions: Sendable, Hashable, Codable {
    /// What is kept of a deleted object.
    public enum Kept: Sendable, Hashable, Codable {
        /// The whole row.
        case all
        /// These columns; names that the table does not have are an error.
        case columns([String])
        /// Nothing but the key.
        case none
    }

    /// Stands for the tables that are created later, in the options by table name.
    static let newTables = "*"

    /// What is kept of a deleted object.
    public var kept: Kept
    /// Updates keep the values that they overwrite, so that any transaction can be reverted.
    public var undo: Bool

    /// The whole deleted row by default, and no old values of updates.
    public init(kept: Kept = .all, undo: Bool = false) {
        self.kept = kept
        self.undo = undo
    }
}
