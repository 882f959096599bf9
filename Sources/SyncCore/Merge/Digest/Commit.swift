/// Names a row of the tables as its writers do.
package struct RowKey: Sendable, Hashable {
    /// Position of the entity in the schema.
    package let entity: Int
    /// The key, in key order.
    package let values: [Value]

    /// Makes a key.
    package init(entity: Int, _ values: [Value]) {
        self.entity = entity
        self.values = values
    }
}

/// What one local transaction did, as the capture log tells it.
package struct Commit: Sendable {
    /// A row of the tables.
    package struct Row: Sendable, Hashable {
        /// Its key.
        package let key: RowKey
        /// One value per column.
        package let values: [Value]

        /// Makes a row.
        package init(_ key: RowKey, _ values: [Value]) {
            self.key = key
            self.values = values
        }
    }

    /// All rows after the transaction. Their order decides in which order new identities are drawn,
    /// and nothing else.
    package let rows: [Row]
    /// Keys that the transaction deleted and inserted again.
    package let recreated: Set<RowKey>
    /// Keys that it changed by UPDATE: the new one, and which it was. Only where the old key was
    /// not used after, and the new one not before.
    package let rekeyed: [RowKey: RowKey]

    /// Describes a transaction.
    package init(rows: [Row], recreated: Set<RowKey> = [], rekeyed: [RowKey: RowKey] = [:]) {
        self.rows = rows
        self.recreated = recreated
        self.rekeyed = rekeyed
    }
}

/// A local transaction as facts, and the state after it.
package struct Digested: Sendable {
    /// The base with the facts.
    package let base: Base
    /// Its view: equal to the committed tables.
    package let view: View
    /// The identity of each committed row.
    package let names: [RowKey: ObjectUID]
    /// The transaction's header.
    package let header: TransactionHeader
    /// What it stated, in order: of two versions of one cell the later one stands.
    package let facts: [Fact]
    /// How many facts were needed only to keep the view equal to the tables (adoptions).
    package let adoptionCount: Int
}
