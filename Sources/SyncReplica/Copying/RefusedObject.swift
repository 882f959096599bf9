import SyncMerge

/// An object of the store's schema that is not made here, and why.
public struct RefusedObject: Sendable, Hashable {
    let object: SchemaObject
    /// Why it is not made.
    public let reason: String
    /// Whether it is made when the user consents after reading its text: it does nothing beyond the
    /// database, but its effects are sent in the name of this replica, or it may run for long.
    public let needsConsent: Bool
    /// Whether it is a column, `table.column`, that the table here lacks.
    var isColumn = false

    /// What it is: `table`, `index`, `view`, `trigger`, `virtual table`, `column`.
    public var kind: String { isColumn ? "column" : object.kind.word }
    /// Its name.
    public var name: String { object.name }
    /// The statement that would make it.
    public var sql: String { object.sql }
}
