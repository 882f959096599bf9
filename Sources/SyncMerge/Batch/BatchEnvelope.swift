import Crypto
import SyncValues

/// What is readable of a batch without opening it: its store and sender, the vectors between which
/// it lies, and its size. A folder, a hub and their operators need to see nothing else.
package struct BatchEnvelope: Sendable, Hashable {
    /// The first bytes of each batch: `SYNB`.
    static let magic: [UInt8] = [0x53, 0x59, 0x4e, 0x42]
    /// Bytes of the check that follows the envelope.
    static let checkBytes = 8

    /// The store that it belongs to.
    package let store: StoreID
    /// The replica that made it.
    package let sender: ReplicaID
    /// What a receiver must have merged before the batch.
    package let from: VersionVector
    /// What the receiver has merged after the batch.
    package let upTo: VersionVector
    /// Transactions in it.
    package let transactionCount: Int
    /// Facts in it.
    package let factCount: Int
    /// Bytes before compression.
    package let contentBytes: Int
    /// Bytes that follow the envelope.
    package let payloadBytes: Int
    /// SHA-256 of the payload.
    package let payloadHash: [UInt8]
    /// The key that the payload is sealed with; nil: it is not encrypted.
    package let key: KeyID?
    /// The cut that every replica has merged, as far as the sender knows, and up to which the
    /// sender has dropped what is no longer needed; empty: it has dropped nothing.
    package let collected: VersionVector
    /// The vector that the sender's whole extraction leads to, where this batch is not the last.
    package let goal: VersionVector?
    /// Sums over what the sender holds at the end of the batch.
    package let sums: BatchSums?
    /// The sender's signature; nil: version 1, which has none.
    package let signature: BatchSignature?
    /// Whether the content ends with ``Batch/Extras``.
    let hasExtras: Bool
    /// Whether the content has ``Batch/names``.
    let hasNames: Bool
    /// Whether the content ends with the proofs of other replicas.
    let hasProofs: Bool
    /// Whether an entity has shared numbers.
    let sharesNumbers: Bool
    /// Whether the content ends with names of replicas.
    let hasReplicaNames: Bool
    /// Whether the content ends with decisions about members.
    let hasDecisions: Bool
    /// Whether the content ends with sections.
    package let hasSections: Bool

    /// The flags after the version, written as a varint. Those that ``known(in:)`` names for
    /// version 2 alone do not exist in version 1.
    struct Flags: OptionSet {
        let rawValue: UInt64

        static let sealed = Flags(rawValue: 1)
        static let extras = Flags(rawValue: 2)
        static let collected = Flags(rawValue: 4)
        static let goal = Flags(rawValue: 8)
        static let sums = Flags(rawValue: 16)
        static let proofs = Flags(rawValue: 32)
        static let names = Flags(rawValue: 64)
        static let sharedNumbers = Flags(rawValue: 128)
        static let decisions = Flags(rawValue: 256)
        static let sections = Flags(rawValue: 512)
        static let replicaNames = Flags(rawValue: 1024)

        static func known(in version: UInt8) -> Flags {
            let common: Flags = [.sealed, .extras, .collected, .names, .sharedNumbers]
            return version == 1
                ? common
                : common.union([.goal, .sums, .proofs, .decisions, .sections, .replicaNames])
        }
    }

    /// Whether transactions of which nothing is left are missing, though `upTo` covers them.
    package var hasGaps: Bool { from.isEmpty && !collected.isEmpty }

    /// The version of the format: 2 with a signature.
    package var version: UInt8 { signature == nil ? 1 : 2 }

    private var flags: Flags {
        var flags: Flags = key == nil ? [] : .sealed
        if hasExtras { flags.insert(.extras) }
        if !collected.isEmpty { flags.insert(.collected) }
        if goal != nil { flags.insert(.goal) }
        if sums != nil { flags.insert(.sums) }
        if hasProofs { flags.insert(.proofs) }
        if hasNames { flags.insert(.names) }
        if sharesNumbers { flags.insert(.sharedNumbers) }
        if hasReplicaNames { flags.insert(.replicaNames) }
        if hasDecisions { flags.insert(.decisions) }
        if hasSections { flags.insert(.sections) }
        return flags
    }

    // MARK: Writing

    /// The bytes that go before the payload.
    package func encoded() -> [UInt8] {
        var body = ByteWriter()
        append(to: &body)
        if let signature {
            body.append(raw: signature.bytes.bytes)
            if let key {
                body.append(raw: payloadHash)
                body.append(raw: key.bytes)
            }
        } else {
            body.append(varint: UInt64(payloadBytes))
            body.append(raw: payloadHash)
            if let key { body.append(raw: key.bytes) }
        }
        var bytes = head(flags)
        bytes.append(counted: body.bytes)
        bytes.append(raw: Array(SHA256.hash(data: bytes.bytes).prefix(Self.checkBytes)))
        return bytes.bytes
    }

    /// What a seal authenticates beside the payload: all of the envelope but what is derived from
    /// the sealed bytes.
    func authenticated(by key: KeyID) -> [UInt8] {
        var bytes = head(flags.union(.sealed))
        append(to: &bytes)
        if let signature { bytes.append(raw: signature.bytes.bytes) }
        bytes.append(raw: key.bytes)
        return bytes.bytes
    }

    private func head(_ flags: Flags) -> ByteWriter {
        var bytes = ByteWriter()
        bytes.append(raw: Self.magic)
        bytes.append(byte: version)
        bytes.append(varint: flags.rawValue)
        return bytes
    }

    /// Writes what does not depend on a seal.
    private func append(to body: inout ByteWriter) {
        body.append(store)
        body.append(sender)
        for vector in [from, upTo] { body.append(vector) }
        for count in [transactionCount, factCount, contentBytes] {
            body.append(varint: UInt64(count))
        }
        if !collected.isEmpty { body.append(collected) }
        if let goal { body.append(goal) }
        if let sums {
            body.append(raw: sums.fact)
            body.append(raw: sums.shown)
        }
        if let signature {
            signature.proof.write(to: &body)
            body.append(varint: UInt64(signature.payloadBytes))
            body.append(raw: signature.payloadHash)
        }
    }

    // MARK: Reading

    /// Reads the envelope at the start of a batch; the payload need not be there. A signature is
    /// not verified: ``requireValidSignature()``.
    /// - Returns: the envelope, and where the payload begins.
    /// - Throws: `badData` for bytes that are not a batch, damaged, or beyond ``BatchLimits``;
    ///   `newerFormat` for a version or a feature that this code does not know.
    package static func read(
        _ bytes: [UInt8]
    ) throws -> (envelope: BatchEnvelope, payloadStart: Int) {
        guard bytes.starts(with: magic) else {
            throw SyncError(.badData, "these bytes are not a batch")
        }
        var reader = ByteReader(bytes)
        _ = try reader.raw(magic.count)
        let version = try reader.byte()
        guard 1...2 ~= version else {
            throw SyncError(
                .newerFormat,
                "the batch has version \(version), this program reads versions 1 and 2",
                hint: "Update syncd on this machine")
        }
        let flags = Flags(rawValue: try reader.varint())
        guard Flags.known(in: version).isSuperset(of: flags) else {
            throw SyncError(
                .newerFormat,
                "the batch uses a feature that this program does not know (\(flags.rawValue))",
                hint: "Update syncd on this machine")
        }
        let body = Array(try reader.counted(atMost: BatchLimits.envelopeBytesMax))
        let covered = bytes[..<reader.position]
        let check = try reader.raw(checkBytes)
        guard SHA256.hash(data: covered).prefix(checkBytes).elementsEqual(check) else {
            throw SyncError(.badData, "the envelope of the batch is damaged")
        }
        let envelope = try BatchEnvelope(body: body, flags: flags, isSigned: version == 2)
        return (envelope, reader.position)
    }

    private init(body: [UInt8], flags: Flags, isSigned: Bool) throws {
        hasExtras = flags.contains(.extras)
        hasProofs = flags.contains(.proofs)
        hasNames = flags.contains(.names)
        sharesNumbers = flags.contains(.sharedNumbers)
        hasReplicaNames = flags.contains(.replicaNames)
        hasDecisions = flags.contains(.decisions)
        hasSections = flags.contains(.sections)
        var reader = ByteReader(body)
        store = try reader.identifier(StoreID.self)
        sender = try reader.identifier(ReplicaID.self)
        from = try reader.vector()
        upTo = try reader.vector()
        transactionCount = try reader.count(atMost: BatchLimits.transactionsMax)
        factCount = try reader.count(atMost: BatchLimits.factsMax)
        contentBytes = try reader.count(atMost: BatchLimits.contentBytesMax)
        collected = flags.contains(.collected) ? try reader.vector() : VersionVector()
        goal = flags.contains(.goal) ? try reader.vector() : nil
        sums = flags.contains(.sums) ? try reader.sums() : nil
        let proof = isSigned ? try SignerProof.read(from: &reader) : nil
        let bytes = try reader.count(atMost: BatchLimits.contentBytesMax)
        let hash = Array(try reader.raw(SHA256.byteCount))
        if let proof {
            signature = BatchSignature(
                proof: proof, payloadBytes: bytes, payloadHash: hash, bytes: try reader.signature())
        } else {
            signature = nil
        }
        if flags.contains(.sealed) {
            payloadBytes = isSigned ? bytes + BatchLimits.sealBytes : bytes
            payloadHash = isSigned ? Array(try reader.raw(SHA256.byteCount)) : hash
            key = KeyID(bytes: Array(try reader.raw(KeyID.byteCount)))
        } else {
            (payloadBytes, payloadHash, key) = (bytes, hash, nil)
        }
        guard reader.isAtEnd else { throw SyncError(.badData, "the envelope has a tail") }
        guard upTo.covers(from) else {
            throw SyncError(.badData, "the batch leads back from where it starts")
        }
        guard goal?.covers(upTo) ?? true else {
            throw SyncError(.badData, "the batch leads beyond its goal")
        }
    }
}

// MARK: Making

extension BatchEnvelope {
    /// The envelope of a batch of version 1 that is not sealed.
    package init(_ batch: Batch, contentBytes: Int, payload: [UInt8]) {
        self.init(
            batch, contentBytes: contentBytes, payload: payload, isSigned: false, signature: nil)
    }

    /// The envelope of a signed batch that is not sealed.
    /// - Throws: `internalFault` when the batch has no proof of its sender, or signing fails.
    init(
        signing batch: Batch, contentBytes: Int, payload: [UInt8], with key: SigningKey
    ) throws {
        guard let proof = batch.proofs[batch.sender], let empty = Self.noSignature else {
            throw SyncError(.internalFault, "the batch has no proof of its sender")
        }
        func signed(_ bytes: Signature) -> BatchEnvelope {
            BatchEnvelope(
                batch, contentBytes: contentBytes, payload: payload, isSigned: true,
                signature: BatchSignature(
                    proof: proof, payloadBytes: payload.count,
                    payloadHash: Array(SHA256.hash(data: payload)), bytes: bytes))
        }
        self = signed(try key.signature(of: signed(empty).signedBytes, for: .batch))
    }

    private static var noSignature: Signature? {
        Signature(bytes: Array(repeating: 0, count: Signature.byteCount))
    }

    private init(
        _ batch: Batch, contentBytes: Int, payload: [UInt8], isSigned: Bool,
        signature: BatchSignature?
    ) {
        store = batch.store
        sender = batch.sender
        from = batch.from
        upTo = batch.upTo
        transactionCount = batch.transactions.count
        factCount = batch.factCount
        collected = batch.collected
        goal = isSigned ? batch.goal : nil
        sums = isSigned ? batch.sums : nil
        self.signature = signature
        self.contentBytes = contentBytes
        payloadBytes = payload.count
        payloadHash = Array(SHA256.hash(data: payload))
        key = nil
        hasExtras = !batch.extras.isEmpty
        hasProofs = isSigned && !batch.forwardedProofs.isEmpty
        hasNames = batch.sendsNames(isSigned: isSigned)
        sharesNumbers = batch.sharesNumbers
        hasReplicaNames = isSigned && !batch.replicaNames.isEmpty
        hasDecisions = isSigned && !batch.decisions.isEmpty
        hasSections = isSigned && !BatchSections.isEmpty(batch)
    }

    /// The envelope of the same content in another payload: sealed, or opened.
    package init(_ other: BatchEnvelope, payload: [UInt8], key: KeyID?) {
        store = other.store
        sender = other.sender
        from = other.from
        upTo = other.upTo
        transactionCount = other.transactionCount
        factCount = other.factCount
        collected = other.collected
        goal = other.goal
        sums = other.sums
        signature = other.signature
        contentBytes = other.contentBytes
        let signed = key == nil ? other.signature : nil
        payloadBytes = signed?.payloadBytes ?? payload.count
        payloadHash = signed?.payloadHash ?? Array(SHA256.hash(data: payload))
        hasExtras = other.hasExtras
        hasProofs = other.hasProofs
        hasNames = other.hasNames
        sharesNumbers = other.sharesNumbers
        hasReplicaNames = other.hasReplicaNames
        hasDecisions = other.hasDecisions
        hasSections = other.hasSections
        self.key = key
    }

    /// Whether the payload is the one that the envelope was made for.
    package func matches(_ payload: ArraySlice<UInt8>) -> Bool {
        SHA256.hash(data: payload).elementsEqual(payloadHash)
    }
}

// MARK: Signature

extension BatchEnvelope {
    /// The bytes that the sender signs: equal for a batch and for its sealed form.
    private var signedBytes: [UInt8] {
        var bytes = head(flags.subtracting(.sealed))
        append(to: &bytes)
        return bytes.bytes
    }

    /// Checks that the signature, where there is one, belongs to the envelope and to the key that
    /// is in it. Whether that is the sender's key is for the receiver to know.
    /// - Throws: `badData` for a wrong one.
    /// - Complexity: O(replicas), and some 100 µs.
    package func requireValidSignature() throws {
        guard let signature else { return }
        guard signature.proof.key.isValid(signature.bytes, of: signedBytes, for: .batch) else {
            throw SyncError(
                .badData, "the signature of the batch, of replica \(sender), is wrong")
        }
    }
}
