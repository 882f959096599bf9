import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

/// The keys of a store: `syncd_key`, made with the first of them (docs/store-format.md).
///
/// In the store itself, which is not encrypted: a reader of the file needs no key.
extension Store {
    /// The keys; an empty ring when there are none.
    /// - Throws: ``SyncError``: `corrupt` for a row that is no key; SQLite errors.
    package func keyRing() throws -> KeyRing {
        try explaining("key") { try reading.read { try KeyTable.ring($0.connection) } }
    }

    /// Makes a key, and seals new batches with it. The other keys stay, for reading what was sent
    /// before: batches that are sealed with them and lead further than this replica are refused
    /// from now on.
    /// - Returns: the new key.
    /// - Throws: as ``keyRing()``; `busy`.
    @discardableResult
    package func makeKey(at time: Timestamp = .now()) throws -> StoreKey {
        try changeKeys { ring, connection in
            let key = StoreKey.make(at: ring.creation(at: time))
            ring.rotate(to: key, at: try KeyTable.merged(connection))
            return key
        }
    }

    /// Adds the keys of another ring.
    /// - Returns: how many are new.
    /// - Throws: as ``keyRing()``; `busy`.
    @discardableResult
    package func addKeys(_ ring: KeyRing) throws -> Int {
        try changeKeys { present, _ in present.merge(ring) }
    }

    private func changeKeys<Result>(
        _ change: (inout KeyRing, OpaquePointer) throws -> Result
    ) throws -> Result {
        try explaining("key") {
            try live.withState { connection, _ in
                try RawTransaction.write(on: connection) {
                    var ring = try KeyTable.ring(connection)
                    let result = try change(&ring, connection)
                    try KeyTable.write(ring, on: connection)
                    return result
                }
            }
        }
    }
}

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
