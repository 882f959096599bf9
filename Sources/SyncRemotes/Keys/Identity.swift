import Crypto
import Foundation
import SyncCore

/// A person's X25519 key pair: others close key packets for its public half.
package struct Identity: Sendable {
    /// The public half: may be known to everybody.
    package struct Public: Sendable, Hashable, CustomStringConvertible {
        private static let prefix = "syncd-public-1:"

        let bytes: [UInt8]

        init(bytes: [UInt8]) { self.bytes = bytes }

        /// Reads what ``description`` wrote.
        /// - Throws: `invalidArgument`.
        package init(_ text: String) throws {
            let text = text.trimmingCharacters(in: .whitespacesAndNewlines)
            guard text.hasPrefix(Self.prefix),
                let data = Data(base64Encoded: String(text.dropFirst(Self.prefix.count))),
                data.count == 32
            else {
                throw SyncError(
                    .invalidArgument, "'\(text)' is not a public key",
                    hint: "The other person gets one with: synctool key identity")
            }
            bytes = [UInt8](data)
        }

        /// `syncd-public-1:` and 44 characters.
        package var description: String { Self.prefix + Data(bytes).base64EncodedString() }

        func key() throws -> Curve25519.KeyAgreement.PublicKey {
            try Curve25519.KeyAgreement.PublicKey(rawRepresentation: bytes)
        }
    }

    private static let prefix = "syncd-identity-1:"

    private let secret: [UInt8]
    /// The public half.
    package let shared: Public

    /// A new pair from the system's random numbers.
    package init() { self.init(Curve25519.KeyAgreement.PrivateKey()) }

    private init(_ key: Curve25519.KeyAgreement.PrivateKey) {
        secret = [UInt8](key.rawRepresentation)
        shared = Public(bytes: [UInt8](key.publicKey.rawRepresentation))
    }

    func key() throws -> Curve25519.KeyAgreement.PrivateKey {
        try Curve25519.KeyAgreement.PrivateKey(rawRepresentation: secret)
    }

    /// The identity of the user in a file that nobody else may read; made when there is none.
    /// - Throws: `badData` for a file with something else; `notAllowed`.
    package static func atPath(_ path: String) throws -> Identity {
        if let text = try? String(contentsOfFile: path, encoding: .utf8) {
            let line = text.trimmingCharacters(in: .whitespacesAndNewlines)
            guard line.hasPrefix(prefix),
                let data = Data(base64Encoded: String(line.dropFirst(prefix.count))),
                let key = try? Curve25519.KeyAgreement.PrivateKey(rawRepresentation: data)
            else {
                throw SyncError(
                    .badData, "the file holds no identity", path: path,
                    hint: "Move it away, and run: synctool key identity")
            }
            return Identity(key)
        }
        let identity = Identity()
        try? FileManager.default.createDirectory(
            at: URL(filePath: path).deletingLastPathComponent(), withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        let text = prefix + Data(identity.secret).base64EncodedString() + "\n"
        try FileAccess.write(
            Array(text.utf8), to: path, temporaryPrefix: ".syncd-identity-", mode: 0o600)
        return identity
    }
}
