import SyncCore
import SyncMerge
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

    /// No more are counted.
    private static let countMax: Int64 = 10_000

    /// Counts them, in the transaction that the connection is in: those that are recorded for
    /// others under the name of this replica and were sent to nobody, and those of history that are
    /// not recorded yet. What a copied file brings from the replica that it was is sent by that.
    /// - Throws: SQLite errors.
    /// - Complexity: O(unsent transactions)
    init(_ connection: OpaquePointer) throws {
        let metadata = Metadata(connection)
        guard case .integer(let sent) = try metadata.value(.sent),
            try ReplicationTables.exist(connection)
        else {
            self.init(count: 0, since: nil)
            return
        }
        let stated = try metadata.position(.stated)
        var count = 0
        var since: Timestamp?
        func add(_ select: Statement, after number: Int64, time: (Int64) -> Int64) throws {
            select.bind(number, at: 1)
            select.bind(Self.countMax, at: 2)
            guard try select.step(), select.integer(0) > 0 else { return }
            count += Int(select.integer(0))
            let first = Timestamp(milliseconds: time(select.integer(1)))
            since = since.map { min($0, first) } ?? first
        }
        let recorded = try Statement(
            """
            SELECT count(*), min(time) FROM (
              SELECT h.time FROM syncd_header h JOIN syncd_replica r ON r.id = h.replica
              WHERE r.replica = ?3 AND h.number > ?1 ORDER BY h.number LIMIT ?2)
            """, on: connection)
        recorded.bind(try metadata.value(.replica), at: 3)
        try add(recorded, after: sent) {
            HybridTime(rawValue: UInt64(bitPattern: $0)).milliseconds
        }
        let written = try Statement(
            """
            SELECT count(*), min(time) FROM (
              SELECT time FROM syncd_transaction WHERE number > ?1 AND origin IS NULL
              ORDER BY number LIMIT ?2)
            """, on: connection)
        try add(written, after: stated) { $0 }
        let digested = try metadata.position(.digested)
        if try LogTable.newest(on: connection) > max(digested, stated) {
            count += 1
            since = since ?? .now()
        }
        self.init(count: count, since: since)
    }
}
