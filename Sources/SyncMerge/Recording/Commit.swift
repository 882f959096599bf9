import SyncValues

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
    /// Which of several transactions did what; empty for one.
    package let dates: Dates

    /// Several transactions at once: each fact is stated under the last one that touched it.
    package struct Dates: Sendable {
        /// By the key that the row has now: the transaction that inserted it.
        package var inserted: [RowKey: Dot] = [:]
        /// By the key that the row had: the transaction that deleted it.
        package var deleted: [RowKey: Dot] = [:]
        /// By the key that the row has now: the last transaction that wrote each column.
        package var written: [RowKey: [Int: Dot]] = [:]

        /// Knows of nothing.
        package init() {}

        /// The last transaction that wrote one of the columns.
        package func written(_ key: RowKey, _ columns: [Int]) -> Dot? {
            guard let dots = written[key] else { return inserted[key] }
            return columns.compactMap { dots[$0] }.max() ?? inserted[key]
        }
    }

    /// Describes a transaction, or several.
    package init(
        rows: [Row], recreated: Set<RowKey> = [], rekeyed: [RowKey: RowKey] = [:],
        dates: Dates = Dates()
    ) {
        self.rows = rows
        self.recreated = recreated
        self.rekeyed = rekeyed
        self.dates = dates
    }
}

/// A local transaction as facts, and the state after it.
package struct RecordedCommit: Sendable {
    /// The state with the facts.
    package let state: MergeState
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
