import SyncCore
import SyncStorage
import SyncValues

/// The transactions of this replica that no remote has, as the file says.
package struct UnsentTransactions: Sendable, Hashable {
    /// How many there are, at least; those that are not digested yet count as one.
    package let count: Int
    /// When the oldest of them was committed.
    package let since: Timestamp?

    /// Makes a count.
    package init(count: Int, since: Timestamp?) {
        self.count = count
        self.since = since
    }
}

extension Store {
    /// So many are counted.
    private static let unsentMax: Int64 = 10_000

    /// What was sent to no remote (`syncd_meta.sent`). A remote may lack more: it says what one of
    /// them has.
    ///
    /// - Throws: ``SyncError``: SQLite errors.
    /// - Complexity: O(unsent transactions)
    package func unsent() throws -> UnsentTransactions {
        try explaining("status") {
            try reading.read { reader in
                let connection = reader.connection
                let metadata = Metadata(connection)
                guard case .integer(let sent) = try metadata.value(.sent) else {
                    return UnsentTransactions(count: 0, since: nil)
                }
                let select = try Statement(
                    """
                    SELECT count(*), min(time) FROM (
                      SELECT time FROM syncd_transaction WHERE number > ?1 AND origin IS NULL
                      ORDER BY number LIMIT ?2)
                    """, on: connection)
                select.bind(sent, at: 1)
                select.bind(Self.unsentMax, at: 2)
                var (count, since): (Int, Timestamp?) = (0, nil)
                if try select.step(), select.integer(0) > 0 {
                    count = Int(select.integer(0))
                    since = Timestamp(milliseconds: select.integer(1))
                }
                let digested = try metadata.position(.digested)
                if try LogTable.newest(on: connection) > max(digested, sent) {
                    count += 1
                    since = since ?? .now()
                }
                return UnsentTransactions(count: count, since: since)
            }
        }
    }
}
