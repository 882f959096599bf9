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
