import Crypto
import Foundation
import SyncCore

/// A person's X25519 key pair. Others seal key packets for its public key.
package struct Identity: Sendable {
    /// The public key: not a secret.
    package struct Public: Sendable, Hashable, CustomStringConvertible {
        private static let prefix = "syncd-public-1:"

        let bytes: [UInt8]

        init(bytes: [UInt8]) { self.bytes = bytes }

        /// Reads a ``description``.
        /// - Throws: `invalidArgument` for anything else.
        package init(_ text: String) throws {
            let text = text.trimmingCharacters(in: .whitespacesAndNewlines)
            guard text.hasPrefix(Self.prefix),
                let data = Data(base64Encoded: String(text.dropFirst(Self.prefix.count))),
                data.count == 32
            else {
                throw SyncError(
                    .invalidArgument, "'\(text)' is not a public key",
                    hint: "The recipient prints theirs with: synctool key identity")
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
    /// The public key.
    package let shared: Public

    /// A new key pair from the system's random number generator.
    package init() { self.init(Curve25519.KeyAgreement.PrivateKey()) }

    private init(_ key: Curve25519.KeyAgreement.PrivateKey) {
        secret = [UInt8](key.rawRepresentation)
        shared = Public(bytes: [UInt8](key.publicKey.rawRepresentation))
    }

    func key() throws -> Curve25519.KeyAgreement.PrivateKey {
        try Curve25519.KeyAgreement.PrivateKey(rawRepresentation: secret)
    }

    /// The user's identity, in a file that only the user can read. The file is created on first
    /// use.
    /// - Throws: `badData` when the file holds something else; `notAllowed`, `diskFull` when it
    ///   cannot be written.
    package static func atPath(_ path: String) throws -> Identity {
        if let text = try? String(contentsOfFile: path, encoding: .utf8) {
            let line = text.trimmingCharacters(in: .whitespacesAndNewlines)
            guard line.hasPrefix(prefix),
                let data = Data(base64Encoded: String(line.dropFirst(prefix.count))),
                let key = try? Curve25519.KeyAgreement.PrivateKey(rawRepresentation: data)
            else {
                throw SyncError(
                    .badData, "the file does not contain an identity", path: path,
                    hint: "Move the file away, then create a new identity: synctool key identity")
            }
            return Identity(key)
        }
        let identity = Identity()
        try? FileManager.default.createDirectory(
            at: URL(filePath: path).deletingLastPathComponent(), withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        let text = prefix + Data(identity.secret).base64EncodedString() + "\n"
        let place = URL(filePath: path)
        try FolderFiles(place.deletingLastPathComponent().path).write(
            Array(text.utf8), to: place.lastPathComponent, temporaryPrefix: ".syncd-identity-",
            mode: 0o600)
        return identity
    }
}
