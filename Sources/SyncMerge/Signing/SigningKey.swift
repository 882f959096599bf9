import Crypto
import SyncValues

/// The private half of a replica's key pair (Ed25519): what its batches are signed with.
package struct SigningKey: Sendable {
    /// The length of a stored key.
    package static let byteCount = 32

    private let key: Curve25519.Signing.PrivateKey
    /// The public half.
    package let verifying: VerifyingKey

    /// The secret, to be stored.
    package var bytes: [UInt8] { Array(key.rawRepresentation) }

    private init?(_ key: Curve25519.Signing.PrivateKey) {
        guard let verifying = VerifyingKey(bytes: Array(key.publicKey.rawRepresentation)) else {
            return nil
        }
        self.key = key
        self.verifying = verifying
    }

    /// A stored key.
    /// - Parameter bytes: exactly 32; nil otherwise.
    package init?(bytes: [UInt8]) {
        guard let key = try? Curve25519.Signing.PrivateKey(rawRepresentation: bytes) else {
            return nil
        }
        self.init(key)
    }

    /// A new key from the system's random numbers.
    package static func make() -> SigningKey {
        guard let key = SigningKey(Curve25519.Signing.PrivateKey()) else {
            preconditionFailure("a public key has 32 bytes")
        }
        return key
    }

    /// Signs bytes for one purpose. The same bytes give the same signature.
    /// - Throws: `internalFault`.
    /// - Complexity: O(bytes), and some 50 µs.
    package func signature(
        of bytes: [UInt8], for purpose: Signature.Purpose
    ) throws -> Signature {
        guard
            let data = try? key.signature(for: purpose.message(bytes)),
            let signature = Signature(bytes: Array(data))
        else { throw SyncError(.internalFault, "signing failed") }
        return signature
    }

    /// 16 bytes that nobody else can guess, and that follow from `bytes`.
    func salt(for bytes: [UInt8]) -> [UInt8] {
        let secret = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: key.rawRepresentation),
            info: Array("syncd batch salt".utf8), outputByteCount: 32)
        return Array(HMAC<SHA256>.authenticationCode(for: bytes, using: secret).prefix(16))
    }
}

extension SigningKey: CustomStringConvertible {
    /// The fingerprint of the public half; never the secret, which could end in a log.
    package var description: String { verifying.description }
}
