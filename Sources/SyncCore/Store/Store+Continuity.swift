import SyncStorage
import SyncValues

/// Whether a file still holds the history that was read from it, and what is done when it does not.
extension Store {
    /// The number of the newest row of the log; 0 for an empty one.
    ///
    /// - Throws: ``SyncError``.
    package func newestNumber() throws -> Int64 {
        try explaining("open") {
            try live.withState { connection, _ in try LogTable.newest(on: connection) }
        }
    }

    /// Whether the store holds the transaction of a token that was given earlier, or it is a token
    /// of another store or of an earlier epoch, about which that says nothing.
    ///
    /// - Throws: ``SyncError``: `busy`.
    package func continues(_ token: Token) throws -> Bool {
        guard token.store == id, token.epoch >= epoch else { return true }
        guard token.epoch == epoch else { return false }
        do {
            try check(token)
            return true
        } catch let error as SyncError where error.code == .foreignHistory {
            return false
        } catch let error as SyncError where error.code == .historyExpired {
            return true
        }
    }

    /// Begins an epoch that no token has. The store is to be opened again afterwards.
    ///
    /// The replica stays: what other replicas have of it is compared when they next exchange
    /// (docs/remotes.md, *A restored backup*).
    ///
    /// - Parameter told: the greatest epoch of which tokens were given.
    /// - Throws: ``SyncError``: `busy`, `readOnly`.
    package func beginEpoch(after told: Int64) throws {
        try explaining("open") {
            try live.withState { connection, live in
                try RawTransaction.write(on: connection, didCommit: live.didCommit) {
                    let metadata = Metadata(connection)
                    let epoch = max(told, try metadata.integer(.epoch))
                    try metadata.set(.epoch, to: .integer(min(epoch, .max - 1) + 1))
                }
            }
        }
    }
}
