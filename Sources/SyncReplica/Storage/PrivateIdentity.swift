import Crypto
import SyncMerge
import SyncStorage
import SyncValues

/// The identities of objects whose key is a number.
///
/// Made from the store, the replica and the insert that the object began with. So two replicas
/// never give one identity to two objects, and copies of a file that both have an insert, but were
/// copied before it was recorded as facts, agree on the identity of its object. The identity of a
/// row that is older than history is made from store and key, because all copies have the row.
///
/// There are two encodings (docs/store-format.md §1.6); which one an object has is a function of
/// what copies share. Neither must ever change: stores contain identities made with it.
/// - *Hashed*: the first 16 bytes of SHA-256.
/// - *Ascending*: six bytes of a hash of store and replica, the number of the insert's row in the
///   log, and the first four bytes of the hashed one. Identities that are made one after the other
///   are neighbours in an index, and take few bytes in a batch.
final class PrivateIdentity {
    private let store: StoreID
    /// Inserts in later rows of the log have ascending identities; nil: none have.
    private let births: Int64?
    /// The first six bytes, above two that are zero: by what they are made from.
    private var replicaOrigins: [ReplicaID: UInt64] = [:]
    private var entityOrigins: [String: UInt64] = [:]
    /// What is hashed of an entity before the key. The one that was asked for last: nearly always
    /// the next one, too.
    private var latest: (entity: String, prefix: [UInt8])?
    /// Used for each identity, so that its memory is allocated once.
    private var hashed = ByteWriter()

    /// Greater numbers do not fit into six bytes.
    private static let numbers: Range<Int64> = 0..<1 << 48

    /// - Parameter births: the setting `births` of the store.
    init(store: StoreID, births: Int64?) {
        self.store = store
        self.births = births
    }

    /// The identity of an object.
    /// - Parameters:
    ///   - replica: the one in whose log the insert is.
    ///   - entity: the identity of the table.
    ///   - birth: nil for a row that is older than history.
    func uid(of key: Value, in entity: String, replica: ReplicaID, birth: ObjectBirth?) -> ObjectUID
    {
        let hashed = hashed(key, in: entity, replica: replica, birth: birth)
        if let birth {
            guard let births, birth.seq > births, Self.numbers ~= birth.seq else { return hashed }
            return hashed.ascending(from: origin(of: replica), number: birth.seq)
        }
        guard births == 0, case .integer(let number) = key, Self.numbers ~= number else {
            return hashed
        }
        return hashed.ascending(from: origin(of: entity), number: number)
    }

    private func hashed(
        _ key: Value, in entity: String, replica: ReplicaID, birth: ObjectBirth?
    ) -> ObjectUID {
        hashed.removeAll()
        hashed.append(raw: prefix(of: entity))
        hashed.append(key)
        if let birth {
            hashed.append(replica)
            hashed.append(signed: birth.seq)
            hashed.append(signed: birth.time.milliseconds)
        }
        return SHA256.hash(data: hashed.bytes).withUnsafeBytes { digest in
            func word(_ offset: Int) -> UInt64 {
                UInt64(bigEndian: digest.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            }
            return ObjectUID(high: word(0), low: word(8))
        }
    }

    private func prefix(of entity: String) -> [UInt8] {
        if let latest, latest.entity == entity { return latest.prefix }
        var writer = ByteWriter()
        writer.append(store)
        writer.append(counted: Array(SQLName.folded(entity).utf8))
        latest = (entity, writer.bytes)
        return writer.bytes
    }

    private func origin(of replica: ReplicaID) -> UInt64 {
        if let known = replicaOrigins[replica] { return known }
        let origin = Self.origin("syncd origin 2", store.bytes + replica.bytes)
        replicaOrigins[replica] = origin
        return origin
    }

    private func origin(of entity: String) -> UInt64 {
        if let known = entityOrigins[entity] { return known }
        let name = Array(SQLName.folded(entity).utf8)
        let origin = Self.origin("syncd before 2", store.bytes + name)
        entityOrigins[entity] = origin
        return origin
    }

    private static func origin(_ domain: String, _ bytes: [UInt8]) -> UInt64 {
        SHA256.hash(data: Array(domain.utf8) + [0] + bytes).prefix(6)
            .reduce(0) { $0 << 8 | UInt64($1) }
    }
}

extension ObjectUID {
    /// - Parameters:
    ///   - origin: 48 bits.
    ///   - number: 48 bits.
    fileprivate func ascending(from origin: UInt64, number: Int64) -> ObjectUID {
        let number = UInt64(number)
        return ObjectUID(high: origin << 16 | number >> 32, low: number << 32 | high >> 32)
    }
}
