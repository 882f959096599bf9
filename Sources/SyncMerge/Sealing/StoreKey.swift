import Crypto
import SyncValues

/// A secret that the replicas of a store share, and that the carriers of their batches do not have.
package struct StoreKey: Sendable, Hashable {
    /// The length of a key.
    package static let byteCount = 32

    /// The secret.
    package let bytes: [UInt8]
    /// When it was made.
    package let created: Timestamp
    /// Its name; does not reveal the secret.
    package let id: KeyID

    /// A key of stored bytes.
    /// - Parameter bytes: exactly 32; nil otherwise.
    package init?(bytes: [UInt8], created: Timestamp) {
        guard bytes.count == Self.byteCount else { return nil }
        self.bytes = bytes
        self.created = created
        let name = Self.derive(from: bytes, for: "syncd key name", count: KeyID.byteCount)
        guard let id = KeyID(bytes: name.withUnsafeBytes { Array($0) }) else { return nil }
        self.id = id
    }

    /// A new key from the system's random numbers.
    package static func make(at time: Timestamp) -> StoreKey {
        let bytes = SymmetricKey(size: .bits256).withUnsafeBytes { Array($0) }
        guard let key = StoreKey(bytes: bytes, created: time) else {
            preconditionFailure("256 bits are 32 bytes")
        }
        return key
    }

    /// The key derived for one purpose, so that one use reveals nothing about another.
    package func subkey(_ purpose: String) -> SymmetricKey {
        Self.derive(from: bytes, for: purpose, count: Self.byteCount)
    }

    private static func derive(
        from bytes: [UInt8], for purpose: String, count: Int
    ) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: bytes), info: Array(purpose.utf8),
            outputByteCount: count)
    }
}

extension StoreKey: CustomStringConvertible {
    /// Its name; never the secret, which could end in a log.
    package var description: String { "key \(id)" }
}
