import SyncCore
import SyncStorage
import SyncValues

extension Store {
    /// What was sent to no remote (`syncd_meta.sent`). A remote may lack more: it says what one of
    /// them has.
    ///
    /// - Throws: ``SyncError``: SQLite errors.
    /// - Complexity: O(unsent transactions)
    package func unsent() throws -> UnsentTransactions {
        try explaining("status") {
            try reading.read { try UnsentTransactions($0.connection) }
        }
    }
}
