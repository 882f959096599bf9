/// A UNIQUE index: of a PRIMARY KEY, of a UNIQUE constraint or made by CREATE UNIQUE INDEX.
package struct UniqueIndex: Sendable, Hashable {
    /// What made the index.
    package enum Origin: Sendable, Hashable {
        case primaryKey, constraint, createIndex
    }

    /// One column of the index.
    package struct Term: Sendable, Hashable {
        /// The table's column; nil when the term is an expression.
        package var column: String?
        /// The expression's SQL text; nil when the term is a column.
        package var expression: String?
        /// The collation that decides what is equal.
        package var collation: String
    }

    /// The index's name.
    package var name: String
    /// What made it.
    package var origin: Origin
    /// What must be unique together.
    package var terms: [Term]
    /// The SQL text after WHERE of a partial index.
    package var condition: String?

    /// Only rows that satisfy ``condition`` are in the index.
    package var isPartial: Bool { condition != nil }
    /// At least one term is an expression.
    package var isExpression: Bool { terms.contains { $0.expression != nil } }
}
