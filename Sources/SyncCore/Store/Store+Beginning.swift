import SyncStorage
import SyncValues

/// Where the history of a store begins.
package struct HistoryBeginning: Sendable, Hashable {
    /// When the database was tracked: nothing is known of what was before.
    package let tracked: Timestamp
    /// Everything up to this number was purged; 0: nothing.
    package let purged: Int64
    /// The first transaction that is left; nil: there is none.
    package let first: Token?
}

extension Store {
    /// Where the history begins.
    ///
    /// - Throws: ``SyncError``: as history queries.
    package func beginning() throws -> HistoryBeginning {
        let first = try firstToken(matching: HistoryQuery())
        return try explaining("history") {
            try reading.read { reader in
                HistoryBeginning(
                    tracked: Timestamp(milliseconds: try reader.metadata.integer(.created)),
                    purged: try reader.metadata.position(.purged), first: first)
            }
        }
    }
}
