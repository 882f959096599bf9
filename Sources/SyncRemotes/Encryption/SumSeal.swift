import Crypto
import SyncMerge

/// Encrypts the sums that a replica states at an encrypted remote: the name of the key, then the
/// sealed bytes. Deterministic, as ``BatchSeal``: the same sums give the same bytes.
enum SumSeal {
    private static let nonceBytes = 12

    /// - Throws: `internalFault` when sealing fails.
    static func seal(_ sums: [UInt8], with key: StoreKey) throws -> [UInt8] {
        let code = HMAC<SHA256>.authenticationCode(for: sums, using: nonceKey(key))
        do {
            let nonce = try ChaChaPoly.Nonce(data: Array(code.prefix(nonceBytes)))
            let box = try ChaChaPoly.seal(
                sums, using: payloadKey(key), nonce: nonce, authenticating: key.id.bytes)
            return key.id.bytes + [UInt8](box.combined)
        } catch {
            throw SyncError(.internalFault, "sealing sums failed", underlying: error)
        }
    }

    /// The sums; nil when the key is missing, or for other bytes than sealed sums.
    static func open(_ bytes: [UInt8], with ring: KeyRing) -> [UInt8]? {
        guard let id = KeyID(bytes: Array(bytes.prefix(KeyID.byteCount))), let key = ring[id],
            let box = try? ChaChaPoly.SealedBox(combined: bytes.dropFirst(KeyID.byteCount)),
            let sums = try? ChaChaPoly.open(
                box, using: payloadKey(key), authenticating: id.bytes)
        else { return nil }
        return [UInt8](sums)
    }

    private static func nonceKey(_ key: StoreKey) -> SymmetricKey {
        key.subkey("syncd sums nonce")
    }

    private static func payloadKey(_ key: StoreKey) -> SymmetricKey {
        key.subkey("syncd sums payload")
    }
}
