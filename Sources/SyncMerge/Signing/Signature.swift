import Crypto
import SyncValues

/// An Ed25519 signature.
package struct Signature: Sendable, Hashable {
    /// The length of a signature.
    package static let byteCount = 64

    /// The signature's bytes.
    package let bytes: [UInt8]

    /// A signature of stored bytes.
    /// - Parameter bytes: exactly 64; nil otherwise.
    package init?(bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        self.bytes = bytes
    }

    /// What is signed: a signature for one purpose is none for another.
    package enum Purpose: String, Sendable {
        case batch = "syncd batch 2"
        case anchor = "syncd anchor 2"
        case member = "syncd member 2"
        case name = "syncd name 2"

        /// The bytes that go into the signature: the purpose, 0, SHA-256 of what is signed.
        func message(_ bytes: [UInt8]) -> [UInt8] {
            Array(rawValue.utf8) + [0] + SHA256.hash(data: bytes)
        }
    }
}
