import SyncCore
import SyncStorage

/// The tables of merging: docs/merge-design.md, *In SQLite*.
enum ReplicationTables {
    /// Creates missing tables, in the transaction that the connection is in.
    /// - Throws: SQLite errors.
    static func create(_ connection: OpaquePointer) throws {
        let statements =
            StoreBlueprint.replication + StoreBlueprint.names + StoreBlueprint.signing
            + StoreBlueprint.members + StoreBlueprint.sums
            + [StoreBlueprint.schema, StoreBlueprint.replicaNames, StoreBlueprint.sides]
        for sql in statements {
            try RawTransaction.execute(sql, on: connection)
        }
    }

    /// Whether the store was ever merged or sent.
    /// - Throws: SQLite errors.
    static func exist(_ connection: OpaquePointer) throws -> Bool {
        try SchemaReader.hasTable("syncd_object", on: connection)
    }
}
