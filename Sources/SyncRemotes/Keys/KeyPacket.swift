import Crypto
import CryptoExtras
import Foundation
import SyncMerge

/// The keys of a store on their way to somebody: one line of text, to be mailed or shown, that only
/// the right passphrase or the right private key opens (docs/batch-format.md, Keys).
package enum KeyPacket {
    /// What opens a packet.
    package enum Opener: Sendable {
        /// A passphrase that both know.
        case passphrase(String)
        /// The private key of whom it was made for.
        case identity(Identity)
    }

    /// How a packet is closed, as it stands in it.
    private enum Kind: UInt8 {
        case passphrase = 1
        case recipient = 2
    }

    private static let prefix = "syncd-key-1:"
    private static let saltBytes = 16
    /// scrypt: 2^15 rounds of 8 blocks take 32 MiB and some 0.1 s. Less is guessed too fast; what a
    /// packet asks for beyond ``roundsLog2Max`` is refused, whoever wrote it.
    private static let roundsLog2: UInt8 = 15
    private static let roundsLog2Max: UInt8 = 18
    private static let blockSize = 8
    /// No packet is longer.
    package static let textBytesMax = 128 << 10

    /// Closes a ring for whoever knows the passphrase.
    package static func make(
        _ ring: KeyRing, store: StoreID, passphrase: String
    ) throws -> String {
        guard !passphrase.isEmpty else {
            throw SyncError(.invalidArgument, "the passphrase is empty")
        }
        let salt = SymmetricKey(size: .bits128).withUnsafeBytes { Array($0) }
        var head = header(.passphrase, store)
        head.append(byte: roundsLog2)
        head.append(raw: salt)
        let key = try stretch(passphrase, salt, roundsLog2)
        return try closed(head.bytes, ring, key)
    }

    /// Closes a ring for the owner of a public key.
    package static func make(
        _ ring: KeyRing, store: StoreID, recipient: Identity.Public
    ) throws -> String {
        let own = Curve25519.KeyAgreement.PrivateKey()
        var head = header(.recipient, store)
        head.append(raw: [UInt8](own.publicKey.rawRepresentation))
        head.append(raw: recipient.bytes)
        let key = try agree(head.bytes) {
            try own.sharedSecretFromKeyAgreement(with: recipient.key())
        }
        return try closed(head.bytes, ring, key)
    }

    /// The store that a packet belongs to, and whether a passphrase opens it.
    /// - Throws: `badData`.
    package static func peek(_ text: String) throws -> (store: StoreID, wantsPassphrase: Bool) {
        var reader = ByteReader(try bytes(of: text))
        let (kind, store) = try readHeader(&reader)
        return (store, kind == .passphrase)
    }

    /// Opens a packet.
    /// - Throws: `badData` for what is no packet; `notAllowed` for a wrong opener.
    package static func open(
        _ text: String, with opener: Opener
    ) throws -> (store: StoreID, ring: KeyRing) {
        let all = try bytes(of: text)
        var reader = ByteReader(all)
        let (kind, store) = try readHeader(&reader)
        let key: SymmetricKey
        switch (kind, opener) {
        case (.passphrase, .passphrase(let passphrase)):
            let rounds = try reader.byte()
            let salt = Array(try reader.raw(saltBytes))
            guard (1...roundsLog2Max).contains(rounds) else {
                throw SyncError(.badData, "the packet asks for too much work")
            }
            key = try stretch(passphrase, salt, rounds)
        case (.recipient, .identity(let identity)):
            let sender = Array(try reader.raw(32))
            let recipient = Array(try reader.raw(32))
            guard recipient == identity.shared.bytes else {
                throw SyncError(
                    .notAllowed, "the packet was made for another public key",
                    hint: "Give the sender this one: \(identity.shared)")
            }
            key = try agree(Array(all[..<reader.position])) {
                try identity.key().sharedSecretFromKeyAgreement(
                    with: Curve25519.KeyAgreement.PublicKey(rawRepresentation: sender))
            }
        case (.passphrase, .identity):
            throw SyncError(.notAllowed, "the packet wants a passphrase")
        case (.recipient, .passphrase):
            throw SyncError(.notAllowed, "the packet was made for a public key")
        }
        let head = all[..<reader.position]
        let sealed = try reader.raw(reader.remaining)
        return (store, try opened(sealed, head, key))
    }

    // MARK: The parts

    private static func header(_ kind: Kind, _ store: StoreID) -> ByteWriter {
        var writer = ByteWriter()
        writer.append(byte: kind.rawValue)
        writer.append(counted: Array(store.description.utf8))
        return writer
    }

    private static func readHeader(_ reader: inout ByteReader) throws -> (Kind, StoreID) {
        guard let kind = Kind(rawValue: try reader.byte()) else {
            throw SyncError(
                .newerFormat, "the key packet is of a kind that this program does not know",
                hint: "Update syncd on this machine")
        }
        guard let store = StoreID(try reader.text(atMost: 64)) else {
            throw SyncError(.badData, "the key packet names no store")
        }
        return (kind, store)
    }

    private static func bytes(of text: String) throws -> [UInt8] {
        let text = text.trimmingCharacters(in: .whitespacesAndNewlines)
        guard text.hasPrefix(prefix), text.utf8.count <= textBytesMax,
            let data = Data(base64Encoded: String(text.dropFirst(prefix.count)))
        else {
            throw SyncError(
                .badData, "this is not a key packet",
                hint: "It is one line that begins with \(prefix), as synctool key share prints it")
        }
        return [UInt8](data)
    }

    private static func stretch(
        _ passphrase: String, _ salt: [UInt8], _ roundsLog2: UInt8
    ) throws -> SymmetricKey {
        // The same text from any keyboard: composed characters.
        let text = Array(passphrase.precomposedStringWithCanonicalMapping.utf8)
        do {
            return try KDF.Scrypt.deriveKey(
                from: text, salt: salt, outputByteCount: 32, rounds: 1 << Int(roundsLog2),
                blockSize: blockSize, parallelism: 1, maxMemory: 1 << 30)
        } catch {
            throw SyncError(.internalFault, "scrypt failed", underlying: error)
        }
    }

    private static func agree(
        _ head: [UInt8], _ agreement: () throws -> SharedSecret
    ) throws -> SymmetricKey {
        do {
            return try agreement().hkdfDerivedSymmetricKey(
                using: SHA256.self, salt: head, sharedInfo: Array("syncd key packet".utf8),
                outputByteCount: 32)
        } catch {
            throw SyncError(.badData, "the public key is not usable", underlying: error)
        }
    }

    private static func closed(
        _ head: [UInt8], _ ring: KeyRing, _ key: SymmetricKey
    ) throws -> String {
        do {
            let box = try ChaChaPoly.seal(encoded(ring), using: key, authenticating: head)
            return prefix + Data(head + box.combined).base64EncodedString()
        } catch {
            throw SyncError(.internalFault, "sealing the keys failed", underlying: error)
        }
    }

    private static func opened(
        _ sealed: ArraySlice<UInt8>, _ head: ArraySlice<UInt8>, _ key: SymmetricKey
    ) throws -> KeyRing {
        let content: Data
        do {
            content = try ChaChaPoly.open(
                ChaChaPoly.SealedBox(combined: sealed), using: key, authenticating: head)
        } catch {
            throw SyncError(
                .notAllowed, "the passphrase is wrong, or the packet is damaged",
                hint: "Check both; nothing was changed", underlying: error)
        }
        return try decoded([UInt8](content))
    }

    private static func encoded(_ ring: KeyRing) -> [UInt8] {
        var writer = ByteWriter()
        writer.append(varint: UInt64(ring.keys.count))
        for key in ring.keys {
            writer.append(raw: key.bytes)
            writer.append(signed: key.created.milliseconds)
            writer.append(byte: key.id == ring.active ? 1 : 0)
        }
        return writer.bytes
    }

    private static func decoded(_ bytes: [UInt8]) throws -> KeyRing {
        var reader = ByteReader(bytes)
        var ring = KeyRing()
        for _ in 0..<(try reader.count(atMost: KeyRing.keysMax)) {
            let secret = Array(try reader.raw(StoreKey.byteCount))
            let created = Timestamp(milliseconds: try reader.signed())
            guard let key = StoreKey(bytes: secret, created: created) else { continue }
            ring.add(key, activating: try reader.byte() == 1)
        }
        try reader.finish()
        return ring
    }
}
