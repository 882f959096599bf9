import Crypto
import SyncValues

/// What is readable of a batch without opening it: its store and sender, the vectors between which
/// it lies, and its size. A folder, a hub and their operators need to see nothing else.
package struct BatchEnvelope: Sendable, Hashable {
    /// The version of the format that this code writes.
    package static let version: UInt8 = 1
    /// The first bytes of each batch: `SYNB`.
    static let magic: [UInt8] = [0x53, 0x59, 0x4e, 0x42]
    /// The flag of a sealed payload.
    private static let sealedFlag: UInt8 = 1
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
    /// Whether the content ends with ``Batch/Extras``.
    let hasExtras: Bool

    /// The flag of a content with extras.
    static let extrasFlag: UInt8 = 2
    /// The flag of an envelope with the cut up to which its sender has collected.
    private static let collectedFlag: UInt8 = 4

    /// Whether transactions of which nothing is left are missing, though `upTo` covers them.
    package var hasGaps: Bool { from.isEmpty && !collected.isEmpty }

    private var flags: UInt8 {
        (key == nil ? 0 : Self.sealedFlag) | (hasExtras ? Self.extrasFlag : 0)
            | (collected.isEmpty ? 0 : Self.collectedFlag)
    }

    /// The bytes that go before the payload.
    package func encoded() -> [UInt8] {
        var body = ByteWriter()
        append(to: &body)
        body.append(varint: UInt64(payloadBytes))
        body.append(raw: payloadHash)
        if let key { body.append(raw: key.bytes) }
        var bytes = ByteWriter()
        bytes.append(raw: Self.magic)
        bytes.append(byte: Self.version)
        bytes.append(byte: flags)
        bytes.append(counted: body.bytes)
        bytes.append(raw: Array(SHA256.hash(data: bytes.bytes).prefix(Self.checkBytes)))
        return bytes.bytes
    }

    /// What a seal authenticates beside the payload: all of the envelope but what is derived from
    /// the sealed bytes.
    func authenticated(by key: KeyID) -> [UInt8] {
        var bytes = ByteWriter()
        bytes.append(raw: Self.magic)
        bytes.append(byte: Self.version)
        bytes.append(byte: flags | Self.sealedFlag)
        append(to: &bytes)
        bytes.append(raw: key.bytes)
        return bytes.bytes
    }

    private func append(to body: inout ByteWriter) {
        body.append(raw: store.bytes)
        body.append(raw: sender.bytes)
        for vector in [from, upTo] { body.append(vector) }
        for count in [transactionCount, factCount, contentBytes] {
            body.append(varint: UInt64(count))
        }
        if !collected.isEmpty { body.append(collected) }
    }

    /// Reads the envelope at the start of a batch; the payload need not be there.
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
        guard version == Self.version else {
            throw SyncError(
                .newerFormat, "the batch has version \(version), this program reads version 1",
                hint: "Update syncd on this machine")
        }
        let flags = try reader.byte()
        guard flags & ~(sealedFlag | extrasFlag | collectedFlag) == 0 else {
            throw SyncError(
                .newerFormat, "the batch uses a feature that this program does not know (\(flags))",
                hint: "Update syncd on this machine")
        }
        let body = Array(try reader.counted(atMost: BatchLimits.envelopeBytesMax))
        let covered = bytes[..<reader.position]
        let check = try reader.raw(checkBytes)
        guard SHA256.hash(data: covered).prefix(checkBytes).elementsEqual(check) else {
            throw SyncError(.badData, "the envelope of the batch is damaged")
        }
        return (try BatchEnvelope(body: body, flags: flags), reader.position)
    }

    private init(body: [UInt8], flags: UInt8) throws {
        let isSealed = flags & Self.sealedFlag != 0
        hasExtras = flags & Self.extrasFlag != 0
        var reader = ByteReader(body)
        store = try reader.identifier(StoreID.init(bytes:))
        sender = try reader.identifier(ReplicaID.init(bytes:))
        from = try reader.vector()
        upTo = try reader.vector()
        transactionCount = try reader.count(atMost: BatchLimits.transactionsMax)
        factCount = try reader.count(atMost: BatchLimits.factsMax)
        contentBytes = try reader.count(atMost: BatchLimits.contentBytesMax)
        collected = flags & Self.collectedFlag != 0 ? try reader.vector() : VersionVector()
        payloadBytes = try reader.count(atMost: BatchLimits.contentBytesMax)
        payloadHash = Array(try reader.raw(SHA256.byteCount))
        key = isSealed ? KeyID(bytes: Array(try reader.raw(KeyID.byteCount))) : nil
        guard reader.isAtEnd else { throw SyncError(.badData, "the envelope has a tail") }
        guard upTo.covers(from) else {
            throw SyncError(.badData, "the batch leads back from where it starts")
        }
    }

    /// The envelope of a batch that is not sealed.
    package init(_ batch: Batch, contentBytes: Int, payload: [UInt8]) {
        store = batch.store
        sender = batch.sender
        from = batch.from
        upTo = batch.upTo
        transactionCount = batch.transactions.count
        factCount = batch.facts.count
        collected = batch.collected
        self.contentBytes = contentBytes
        payloadBytes = payload.count
        payloadHash = Array(SHA256.hash(data: payload))
        key = nil
        hasExtras = !batch.extras.isEmpty
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
        contentBytes = other.contentBytes
        payloadBytes = payload.count
        payloadHash = Array(SHA256.hash(data: payload))
        hasExtras = other.hasExtras
        self.key = key
    }
}

extension BatchEnvelope {
    /// Whether the payload is the one that the envelope was made for.
    package func matches(_ payload: ArraySlice<UInt8>) -> Bool {
        SHA256.hash(data: payload).elementsEqual(payloadHash)
    }
}
