/// One column of a table, as its schema declares it.
package struct ColumnSchema: Sendable, Hashable {
    /// Where a column's value comes from.
    package enum Storage: Sendable, Hashable {
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
    package var name: String
    /// The declared type as the schema spells it; empty when there is none.
    package var declaredType: String
    /// What values are converted to.
    package var affinity: Affinity
    /// The declared collation; `BINARY` by default.
    package var collation: String
    /// Declared NOT NULL (or so by rule: a key column of a WITHOUT ROWID table).
    package var isNotNull: Bool
    /// The SQL text of the default value.
    package var defaultSQL: String?
    /// Where values come from.
    package var storage: Storage
    /// The SQL text from which a generated column is computed; nil for any other.
    package var generatedSQL: String?
    /// Declared AUTOINCREMENT.
    package var isAutoincrement: Bool

    /// Computed by SQLite, never written.
    package var isGenerated: Bool { storage == .generatedVirtual || storage == .generatedStored }

    /// Two values may be equal in SQL and yet differ: `1` and `1.0`.
    package var isUntyped: Bool { affinity == .blob }

    package var comparesBinary: Bool { SQLName.isEqual(collation, to: "BINARY") }
}
