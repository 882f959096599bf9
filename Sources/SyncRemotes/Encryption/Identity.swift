import Crypto
import Foundation
import SyncCore

/// A person's X25519 key pair. Others seal key packets for its public key.
package struct Identity: Sendable {
    /// The public key: not a secret.
    package struct Public: Sendable, Hashable, CustomStringConvertible {
        private static let prefix = "syncd-public-2:"
        /// Without the check: any 32 bytes, of which a damaged one could not be told.
        private static let formerPrefix = "syncd-public-1:"
        private static let keyBytes = 32
        private static let checkBytes = 4

        let bytes: [UInt8]

        init(bytes: [UInt8]) { self.bytes = bytes }

        /// Reads a ``description``.
        /// - Throws: `invalidArgument` for anything else, and for one that was damaged on its way:
        ///   nobody could open what is sealed for it.
        package init(_ text: String) throws {
            let text = text.trimmingCharacters(in: .whitespacesAndNewlines)
            guard text.hasPrefix(Self.prefix) else {
                let isFormer = text.hasPrefix(Self.formerPrefix)
                throw Self.fault(
                    of: text,
                    being: isFormer ? "a public key of an earlier version" : "not a public key")
            }
            guard let data = Data(base64Encoded: String(text.dropFirst(Self.prefix.count))),
                data.count == Self.keyBytes + Self.checkBytes,
                Self.check(data.prefix(Self.keyBytes)) == Array(data.suffix(Self.checkBytes)),
                data.base64EncodedString() == text.dropFirst(Self.prefix.count)
            else {
                throw Self.fault(
                    of: text, being: "a damaged public key: a character is wrong or missing")
            }
            bytes = Array(data.prefix(Self.keyBytes))
        }

        private static func fault(of text: String, being reason: String) -> SyncError {
            SyncError(
                .invalidArgument, "'\(text.prefix(100))' is \(reason)",
                hint: "The recipient prints theirs with: synctool key identity. Copy the whole line"
            )
        }

        private static func check(_ key: some DataProtocol) -> [UInt8] {
            Array(SHA256.hash(data: Array(prefix.utf8) + Array(key)).prefix(checkBytes))
        }

        /// `syncd-public-2:` and 48 characters.
        package var description: String {
            Self.prefix + Data(bytes + Self.check(bytes)).base64EncodedString()
        }

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
    /// use, and only where there is none.
    /// - Throws: `badData` when the file holds something else; `refused` when others may read or
    ///   write it, and so open what is sealed for it; `notAllowed`, `diskFull` when it cannot be
    ///   read or written.
    package static func atPath(_ path: String) throws -> Identity {
        if let known = try text(at: path) { return try read(known, at: path) }
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

    private static func read(_ text: String, at path: String) throws -> Identity {
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

    /// An identity is a line of less than 100 bytes.
    private static let textBytesMax = 4096

    /// The text of the file that is there; nil when there is none.
    private static func text(at path: String) throws -> String? {
        // Without waiting: a pipe has no end.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw SyncError(
                .notAllowed, "the identity cannot be read: \(String(cString: strerror(errno)))",
                path: path, hint: "Look at its permissions: namei -l \(Shell.quoted(path))")
        }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        try requirePrivate(descriptor, at: path)
        let data = (try? file.read(upToCount: textBytesMax)) ?? Data()
        return String(decoding: data, as: UTF8.self)
    }

    /// As ssh does with a private key: it is not used, so that its owner notices.
    private static func requirePrivate(_ descriptor: Int32, at path: String) throws {
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_uid == geteuid() || status.st_uid == 0
        else {
            throw SyncError(
                .refused, "the identity belongs to another user", path: path,
                hint: "Move the file away, then create a new identity: synctool key identity")
        }
        guard status.st_mode & 0o077 != 0 else { return }
        let mode = String(status.st_mode & 0o777, radix: 8)
        throw SyncError(
            .refused,
            "other users may read or write the identity, a private key (mode 0\(mode)); it is not "
                + "used",
            path: path,
            hint: "Where nobody else has read it: chmod 600 \(Shell.quoted(path)). Otherwise move "
                + "it away, and make a new one: synctool key identity")
    }
}
