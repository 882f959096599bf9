import Crypto
import SyncMerge
import SyncStorage
import SyncValues

/// The identity of an object whose key is a private number.
///
/// Made from the store, the replica and the insert that the object began with. So two replicas
/// never give one identity to two objects, and copies of a file that both have an insert, but were
/// copied before it was recorded as facts, agree on the identity of its object. The identity of a
/// row that is older than history is made from store and key, because all copies have the row.
///
/// The first 16 bytes of SHA-256. This encoding must never change: stores contain identities made
/// with it.
enum PrivateIdentity {
    /// - Parameter birth: nil for a row that is older than history.
    static func uid(
        store: StoreID, replica: ReplicaID, entity: String, key: Value,
        birth: ObjectBirth?
    ) -> ObjectUID {
        var writer = ByteWriter()
        writer.append(raw: store.bytes)
        writer.append(counted: Array(SQLName.folded(entity).utf8))
        writer.append(key)
        if let birth {
            writer.append(raw: replica.bytes)
            writer.append(signed: birth.seq)
            writer.append(signed: birth.time.milliseconds)
        }
        let digest = Array(SHA256.hash(data: writer.bytes).prefix(16))
        return ObjectUID(bytes: digest) ?? ObjectUID(high: 0, low: 0)
    }
}
