import Crypto
import SyncValues

/// The public half of a replica's key pair (Ed25519): what its signatures are verified with.
package struct VerifyingKey: Sendable, Hashable {
    /// The length of a key.
    package static let byteCount = 32

    /// The key's bytes.
    package let bytes: [UInt8]

    /// A key of stored bytes.
    /// - Parameter bytes: exactly 32; nil otherwise.
    package init?(bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        self.bytes = bytes
    }

    /// Whether a signature was made with the other half of the pair, for these bytes and this
    /// purpose.
    /// - Complexity: O(bytes), and some 100 µs.
    package func isValid(
        _ signature: Signature, of bytes: [UInt8], for purpose: Signature.Purpose
    ) -> Bool {
        guard let key = try? Curve25519.Signing.PublicKey(rawRepresentation: self.bytes) else {
            return false
        }
        return key.isValidSignature(signature.bytes, for: purpose.message(bytes))
    }
}

extension VerifyingKey: CustomStringConvertible {
    /// The *fingerprint*: the first 8 hexadecimal digits of the key's SHA-256. For people who
    /// compare keys, not for programs.
    package var description: String {
        Hex.encode(Array(SHA256.hash(data: bytes).prefix(4)))
    }
}
