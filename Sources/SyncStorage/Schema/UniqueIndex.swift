import SyncValues

/// A UNIQUE index: of a PRIMARY KEY, of a UNIQUE constraint or made by CREATE UNIQUE INDEX.
public struct UniqueIndex: Sendable, Hashable {
    /// What made the index.
    public enum Origin: Sendable, Hashable {
        case primaryKey, constraint, createIndex
    }

    /// One column of the index.
    public struct Term: Sendable, Hashable {
        /// The table's column; nil when the term is an expression.
        public var column: String?
        /// The expression's SQL text; nil when the term is a column.
        public var expression: String?
        /// The collation that decides what is equal.
        public var collation: String
    }

    /// The index's name.
    public var name: String
    /// What made it.
    public var origin: Origin
    /// What must be unique together.
    public var terms: [Term]
    /// The SQL text after WHERE of a partial index.
    public var condition: String?

    /// Only rows that satisfy ``condition`` are in the index.
    public var isPartial: Bool { condition != nil }
    /// At least one term is an expression.
    public var isExpression: Bool { terms.contains { $0.expression != nil } }
}
