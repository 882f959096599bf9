import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

/// The tables that merging keeps beside those of history: docs/merge-design.md, *In SQLite*.
enum ReplicationTables {
    /// Creates what is missing, in the transaction that the connection is in.
    static func create(_ connection: OpaquePointer) throws {
        for sql in StoreBlueprint.replication { try RawTransaction.execute(connection, sql) }
    }

    /// Whether the store has ever been merged or sent.
    static func exist(_ connection: OpaquePointer) throws -> Bool {
        try Statement(
            connection, "SELECT 1 FROM sqlite_schema WHERE name = 'syncd_object' AND type = 'table'"
        ).step()
    }
}
