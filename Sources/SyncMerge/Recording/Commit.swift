import SyncValues

/// What one local transaction did, by the capture log.
package struct Commit: Sendable {
    /// A row of the tables.
    package struct Row: Sendable, Hashable {
        /// Its key.
        package let key: RowKey
        /// One value per column.
        package let values: [Value]

        /// Makes a row.
        package init(_ key: RowKey, values: [Value]) {
            self.key = key
            self.values = values
        }
    }

    /// All rows after the transaction. Their order decides only the order in which new identities
    /// are drawn.
    package let rows: [Row]
    /// Keys that the transaction deleted and inserted again.
    package let recreated: Set<RowKey>
    /// Keys that it changed by UPDATE: the old key, by the new one. Only where the old key was not
    /// used afterwards, and the new one not before.
    package let rekeyed: [RowKey: RowKey]
    /// Which of several transactions made each change; empty for one transaction.
    package let dates: Dates
    /// Whether ``dates`` has all that was written; else the rows alone say what was.
    let areDatesKnown: Bool
    /// Rows of which a comparison alone says that they may have been updated: which of their
    /// columns were written is not known.
    package let guessed: Set<RowKey>

    /// For several transactions that are recorded at once: the dots of the changes. Each fact is
    /// recorded under the last transaction that wrote it.
    package struct Dates: Sendable {
        /// By the key that the row has now: the transaction that inserted it.
        package var inserted: [RowKey: Dot] = [:]
        /// By the key that the row had: the transaction that deleted it.
        package var deleted: [RowKey: Dot] = [:]
        /// By the key that the row has now: the last transaction that wrote each column.
        package var written: [RowKey: [Int: Dot]] = [:]

        /// No changes.
        package init() {}

        /// The last transaction that wrote one of the columns.
        package func lastWrite(to columns: [Int], of key: RowKey) -> Dot? {
            row(key).lastWrite(to: columns)
        }

        /// What wrote the row that has a key now.
        package func row(_ key: RowKey) -> Row {
            Row(inserted: inserted[key], written: written[key])
        }

        /// What wrote one row.
        package struct Row: Sendable {
            /// The transaction that inserted it.
            package let inserted: Dot?
            fileprivate let written: [Int: Dot]?

            /// The last transaction that wrote one of the columns, or inserted the row.
            package func lastWrite(to columns: [Int]) -> Dot? {
                guard let written else { return inserted }
                return columns.compactMap { written[$0] }.max() ?? inserted
            }
        }
    }

    /// Describes a transaction, or several.
    /// - Parameter dates: nil: not known.
    package init(
        rows: [Row], recreated: Set<RowKey> = [], rekeyed: [RowKey: RowKey] = [:],
        dates: Dates? = nil, guessed: Set<RowKey> = []
    ) {
        self.rows = rows
        self.recreated = recreated
        self.rekeyed = rekeyed
        self.dates = dates ?? Dates()
        areDatesKnown = dates != nil
        self.guessed = guessed
    }
}
