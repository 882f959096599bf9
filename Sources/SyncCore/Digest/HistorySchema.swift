import SyncStorage

/// The tables that the digest writes: docs/store-format.md §2.
enum HistorySchema {
    /// Creates what is missing, in the transaction that the connection is in.
    static func create(_ connection: OpaquePointer) throws {
        for sql in StoreBlueprint.history { try RawTransaction.execute(sql, on: connection) }
    }
}
