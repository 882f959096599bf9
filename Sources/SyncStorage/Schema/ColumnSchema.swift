import SyncValues

/// One column of a table, as its schema declares it.
public struct ColumnSchema: Sendable, Hashable {
    /// Where a column's value comes from.
    public enum Storage: Sendable, Hashable {
        /// A value that writers give.
        case ordinary
        /// `GENERATED ALWAYS AS (…) VIRTUAL`: computed when read.
        case generatedVirtual
        /// `GENERATED ALWAYS AS (…) STORED`: computed when written.
        case generatedStored
        /// A hidden column of a virtual table.
        case hidden
    }

    /// The name as the schema spells it.
    public var name: String
    /// The declared type as the schema spells it; empty when there is none.
    public var declaredType: String
    /// What values are converted to.
    public var affinity: Affinity
    /// The declared collation; `BINARY` by default.
    public var collation: String
    /// Declared NOT NULL (or so by rule: a key column of a WITHOUT ROWID table).
    public var isNotNull: Bool
    /// The SQL text of the default value.
    public var defaultSQL: String?
    /// Where values come from.
    public var storage: Storage
    /// Declared AUTOINCREMENT.
    public var isAutoincrement: Bool

    /// Computed by SQLite, not written by anybody.
    public var isGenerated: Bool { storage == .generatedVirtual || storage == .generatedStored }

    /// Two values may be equal in SQL and yet differ: `1` and `1.0`.
    package var isUntyped: Bool { affinity == .blob }

    package var comparesBinary: Bool { SQLName.equal(collation, "BINARY") }
}
