import Crypto
import CryptoExtras
import Foundation
import SyncMerge

/// The keys of a store as one line of text, sealed for a passphrase or for the owner of a private
/// key (docs/batch-format.md, Keys).
package enum KeyPacket {
    /// The secret that opens a packet.
    package enum Opener: Sendable {
        /// A passphrase that both sides know.
        case passphrase(String)
        /// The private key of the recipient.
        case identity(Identity)
    }

    /// How a packet is sealed, as encoded in its header.
    private enum Kind: UInt8 {
        case passphrase = 1
        case recipient = 2
    }

    /// Added to the kind where the keys have cuts, which an earlier version cannot read.
    private static let withCuts: UInt8 = 2
    private static let prefix = "syncd-key-1:"
    private static let saltBytes = 16
    /// scrypt: 2^15 rounds of 8 blocks take 32 MiB and about 0.1 s. Fewer make guessing cheap; a
    /// packet that asks for more than ``roundsLog2Max`` is refused.
    package static let roundsLog2: UInt8 = 15
    private static let roundsLog2Max: UInt8 = 18
    private static let blockSize = 8
    /// The maximum length of a packet, in bytes of UTF-8.
    package static let textBytesMax = 128 << 10

    /// Seals a ring with a passphrase.
    /// - Parameter roundsLog2: how much a guess costs; fewer rounds than the default are for tests.
    /// - Throws: `invalidArgument` for an empty passphrase.
    package static func make(
        _ ring: KeyRing, store: StoreID, passphrase: String,
        roundsLog2: UInt8 = KeyPacket.roundsLog2
    ) throws -> String {
        guard !passphrase.isEmpty else {
            throw SyncError(
                .invalidArgument, "the passphrase is empty", hint: "Enter at least one character")
        }
        let salt = SymmetricKey(size: .bits128).withUnsafeBytes { Array($0) }
        var head = header(of: .passphrase, store: store, hasCuts: !ring.cuts.isEmpty)
        head.append(byte: roundsLog2)
        head.append(raw: salt)
        let key = try stretch(passphrase, salt: salt, roundsLog2: roundsLog2)
        return try seal(ring, with: key, header: head.bytes)
    }

    /// Seals a ring for the owner of a public key.
    /// - Throws: `badData` for a public key that X25519 cannot use.
    package static func make(
        _ ring: KeyRing, store: StoreID, recipient: Identity.Public
    ) throws -> String {
        let own = Curve25519.KeyAgreement.PrivateKey()
        var head = header(of: .recipient, store: store, hasCuts: !ring.cuts.isEmpty)
        head.append(raw: [UInt8](own.publicKey.rawRepresentation))
        head.append(raw: recipient.bytes)
        let key = try deriveKey(header: head.bytes) {
            try own.sharedSecretFromKeyAgreement(with: recipient.key())
        }
        return try seal(ring, with: key, header: head.bytes)
    }

    /// The store that a packet belongs to, and whether a passphrase opens it.
    /// - Throws: `badData`; `newerFormat` for an unknown kind of packet.
    package static func peek(_ text: String) throws -> (store: StoreID, wantsPassphrase: Bool) {
        var reader = ByteReader(try bytes(of: text))
        let (kind, store) = try readHeader(&reader)
        return (store, kind == .passphrase)
    }

    /// Opens a packet.
    /// - Throws: `badData` for text that is not a packet; `newerFormat` for an unknown kind;
    ///   `notAllowed` for a wrong opener.
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
                throw SyncError(
                    .badData, "the key packet asks for 2^\(rounds) rounds of scrypt",
                    hint: "At most 2^\(roundsLog2Max) are accepted; ask for a new packet: "
                        + "synctool key share")
            }
            key = try stretch(passphrase, salt: salt, roundsLog2: rounds)
        case (.recipient, .identity(let identity)):
            let sender = Array(try reader.raw(32))
            let recipient = Array(try reader.raw(32))
            guard recipient == identity.shared.bytes else {
                throw SyncError(
                    .notAllowed, "the key packet was made for another public key",
                    hint:
                        "Ask the sender to run: synctool key share REPLICA --to \(identity.shared)")
            }
            key = try deriveKey(header: Array(all[..<reader.position])) {
                try identity.key().sharedSecretFromKeyAgreement(
                    with: Curve25519.KeyAgreement.PublicKey(rawRepresentation: sender))
            }
        case (.passphrase, .identity):
            throw SyncError(.notAllowed, "the key packet needs a passphrase")
        case (.recipient, .passphrase):
            throw SyncError(.notAllowed, "the key packet was made for a public key")
        }
        let head = all[..<reader.position]
        let sealed = try reader.raw(reader.remaining)
        return (store, try unseal(sealed, with: key, header: head))
    }

    // MARK: The parts

    private static func header(of kind: Kind, store: StoreID, hasCuts: Bool) -> ByteWriter {
        var writer = ByteWriter()
        writer.append(byte: kind.rawValue + (hasCuts ? withCuts : 0))
        writer.append(counted: Array(store.description.utf8))
        return writer
    }

    private static func readHeader(_ reader: inout ByteReader) throws -> (Kind, StoreID) {
        let byte = try reader.byte()
        guard let kind = Kind(rawValue: byte > withCuts ? byte - withCuts : byte) else {
            throw SyncError(
                .newerFormat, "the key packet has an unknown kind",
                hint: "Update syncd on this machine")
        }
        guard let store = StoreID(try reader.text(atMost: 64)) else {
            throw SyncError(.badData, "the key packet does not name a store")
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
                hint: "A key packet is one line that begins with \(prefix); "
                    + "print one with: synctool key share REPLICA")
        }
        return [UInt8](data)
    }

    private static func stretch(
        _ passphrase: String, salt: [UInt8], roundsLog2: UInt8
    ) throws -> SymmetricKey {
        // Composed characters: the same bytes from any keyboard.
        let text = Array(passphrase.precomposedStringWithCanonicalMapping.utf8)
        do {
            return try KDF.Scrypt.deriveKey(
                from: text, salt: salt, outputByteCount: 32, rounds: 1 << Int(roundsLog2),
                blockSize: blockSize, parallelism: 1, maxMemory: 1 << 30)
        } catch {
            throw SyncError(.internalFault, "scrypt failed", underlying: error)
        }
    }

    private static func deriveKey(
        header: [UInt8], from agreement: () throws -> SharedSecret
    ) throws -> SymmetricKey {
        do {
            return try agreement().hkdfDerivedSymmetricKey(
                using: SHA256.self, salt: header, sharedInfo: Array("syncd key packet".utf8),
                outputByteCount: 32)
        } catch {
            throw SyncError(.badData, "the public key is invalid", underlying: error)
        }
    }

    private static func seal(
        _ ring: KeyRing, with key: SymmetricKey, header: [UInt8]
    ) throws -> String {
        do {
            let box = try ChaChaPoly.seal(encoded(ring), using: key, authenticating: header)
            return prefix + Data(header + box.combined).base64EncodedString()
        } catch {
            throw SyncError(.internalFault, "encrypting the keys failed", underlying: error)
        }
    }

    private static func unseal(
        _ sealed: ArraySlice<UInt8>, with key: SymmetricKey, header: ArraySlice<UInt8>
    ) throws -> KeyRing {
        let content: Data
        do {
            content = try ChaChaPoly.open(
                ChaChaPoly.SealedBox(combined: sealed), using: key, authenticating: header)
        } catch {
            throw SyncError(
                .notAllowed, "the passphrase is wrong, or the packet is damaged",
                hint: "Nothing was changed. Try again, or ask for a new packet: synctool key share",
                underlying: error)
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
        guard !ring.cuts.isEmpty else { return writer.bytes }
        let cuts = ring.keys.enumerated().compactMap { place, key in
            ring.cuts[key.id].map { (place, $0) }
        }
        writer.append(varint: UInt64(cuts.count))
        for (place, cut) in cuts {
            writer.append(varint: UInt64(place))
            writer.append(cut)
        }
        return writer.bytes
    }

    private static func decoded(_ bytes: [UInt8]) throws -> KeyRing {
        var reader = ByteReader(bytes)
        var ring = KeyRing()
        var ids: [KeyID] = []
        for _ in 0..<(try reader.count(atMost: KeyRing.keysMax)) {
            let secret = Array(try reader.raw(StoreKey.byteCount))
            let created = Timestamp(milliseconds: try reader.signed())
            guard let key = StoreKey(bytes: secret, created: created) else { continue }
            ring.add(key, activating: try reader.byte() == 1)
            ids.append(key.id)
        }
        if !reader.isAtEnd {
            for _ in 0..<(try reader.count(atMost: KeyRing.keysMax)) {
                let place = try reader.index(below: ids.count)
                ring.setCut(try reader.vector(), of: ids[place])
            }
        }
        try reader.finish()
        return ring
    }
}
