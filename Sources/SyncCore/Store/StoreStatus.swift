import SyncStorage
import SyncValues

/// How a store is doing.
public struct StoreStatus: Sendable, Hashable {
    /// The store's name, shared by all its replicas.
    public let store: StoreID
    /// This copy's name.
    public let replica: ReplicaID
    /// Grows when the replica's history is replaced.
    public let epoch: Int64
    /// The end of history.
    public let head: Token
    /// Everything up to this number was purged; 0: nothing.
    public let purged: Int64
    /// The tracked tables.
    public let entities: [String]
    /// Transactions in the history tables.
    public let transactions: Int64
    /// Log rows that are not in the history tables yet.
    public let logRows: Int64
    /// The size of the database file in bytes.
    public let fileBytes: Int64
    /// The journal mode, as `PRAGMA journal_mode` says it.
    public let journalMode: String
    /// The registered consumers.
    public let consumers: [Consumer]
}

extension Store {
    /// How the store is doing.
    ///
    /// - Complexity: O(transactions) to count them.
    /// - Throws: ``SyncError``: `storeDamaged`, `storeReplaced`, `busy`.
    public func status() throws -> StoreStatus {
        let head = try head()
        let consumers = try consumers()
        return try explaining("status") {
            try reading.read { reader in
                let connection = reader.connection
                let digested = try reader.metadata.position(.digested)
                try reader.catalog.reload()
                return StoreStatus(
                    store: id, replica: replica, epoch: epoch, head: head,
                    purged: try reader.metadata.position(.purged),
                    entities: reader.catalog.present.map(\.name),
                    transactions: try number(
                        on: connection, sql: TransactionTable.countSQL),
                    logRows: try number(
                        on: connection,
                        sql: LogTable.countSQL(after: digested)),
                    fileBytes: try number(on: connection, sql: "PRAGMA page_count")
                        * number(on: connection, sql: "PRAGMA page_size"),
                    journalMode: try text(on: connection, sql: "PRAGMA journal_mode"),
                    consumers: consumers)
            }
        }
    }

    /// Log rows that are not in the history tables yet.
    ///
    /// - Complexity: O(result)
    /// - Throws: ``SyncError``: `storeDamaged`, `busy`.
    package func pendingRowCount() throws -> Int64 {
        try explaining("status") {
            try reading.read { reader in
                try number(
                    on: reader.connection,
                    sql: LogTable.countSQL(after: reader.metadata.position(.digested)))
            }
        }
    }

    private func number(on connection: OpaquePointer, sql: String) throws -> Int64 {
        let statement = try Statement(sql, on: connection)
        return try statement.step() ? statement.integer(0) : 0
    }

    private func text(on connection: OpaquePointer, sql: String) throws -> String {
        let statement = try Statement(sql, on: connection)
        return try statement.step() ? statement.text(0) ?? "" : ""
    }
}
