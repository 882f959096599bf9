import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

/// The rows of `syncd_key`.
enum KeyTable {
    /// The keys, with their cuts; an empty ring where there are none.
    static func ring(_ connection: OpaquePointer) throws -> KeyRing {
        guard try SchemaReader.hasTable("syncd_key", on: connection) else { return KeyRing() }
        let select = try Statement(
            "SELECT secret, created, active FROM syncd_key ORDER BY created, id", on: connection)
        var ring = KeyRing()
        while try select.step() {
            let created = Timestamp(milliseconds: select.integer(1))
            guard let key = StoreKey(bytes: select.blob(0) ?? [], created: created) else {
                throw SyncError(
                    .corrupt, "the table syncd_key has a row that is no key",
                    hint: "Get the keys again: synctool key import DB FILE")
            }
            ring.add(key, activating: select.integer(2) == 1)
        }
        guard try SchemaReader.hasTable("syncd_epoch", on: connection) else { return ring }
        let epochs = try Statement("SELECT id, cut FROM syncd_epoch", on: connection)
        while try epochs.step() {
            guard let id = KeyID(bytes: epochs.blob(0) ?? []) else { continue }
            ring.setCut(try VersionVector(stored: epochs.blob(1)), of: id)
        }
        return ring
    }

    /// What the replica has merged.
    static func merged(_ connection: OpaquePointer) throws -> VersionVector {
        guard try ReplicationTables.exist(connection) else { return VersionVector() }
        return try HeaderStorage(connection, replicas: ReplicaNames(connection)).vector()
    }

    /// Stores a ring in place of the one that is there.
    static func write(_ ring: KeyRing, on connection: OpaquePointer) throws {
        try RawTransaction.execute(StoreBlueprint.key, on: connection)
        try RawTransaction.execute("DELETE FROM syncd_key", on: connection)
        let insert = try Statement("INSERT INTO syncd_key VALUES (?1, ?2, ?3, ?4)", on: connection)
        for key in ring.keys {
            try insert.run(
                .blob(key.id.bytes), .blob(key.bytes), .integer(key.created.milliseconds),
                .integer(key.id == ring.active ? 1 : 0))
        }
        guard !ring.cuts.isEmpty else { return }
        try RawTransaction.execute(StoreBlueprint.epoch, on: connection)
        let epoch = try Statement(
            "INSERT OR REPLACE INTO syncd_epoch VALUES (?1, ?2)", on: connection)
        for (id, cut) in ring.cuts { try epoch.run(.blob(id.bytes), .blob(cut.stored)) }
    }
}
