import SyncMerge
import SyncStorage
import SyncValues

/// A replica whose transactions are signed, as this store knows it.
struct Signer {
    let replica: ReplicaID
    /// Its public key: the first one that was seen, for good.
    let key: VerifyingKey
    /// Its newest transaction that is not signed.
    let first: Int64
    /// A link above which every header of the replica is stored here.
    var base: ChainLink
    /// The link at what is merged of the replica; of this replica at what was sent. Nil: unknown,
    /// until a batch proves it.
    var link: ChainLink?
    /// The proof of ``link`` where that is no anchor.
    var pending: PendingProof?
    /// The private key: of this replica alone.
    var secret: SigningKey?
    /// Batches of a removed member are refused.
    var isRemoved = false

    /// The start of its chain.
    static func start(_ replica: ReplicaID, first: Int64, store: StoreID) -> ChainLink {
        ChainLink(store: store, replica: replica, first: first)
    }
}

/// An anchor beyond what is merged of a replica, and the headers up to it: where a batch, or a
/// slice of one, ended between two anchors.
struct PendingProof {
    /// An anchor, then headers. Decoded when it is sent: it may be as long as a batch.
    let stored: [UInt8]
    /// The anchor.
    let anchor: Anchor

    init(anchor: Anchor, headers: [TransactionHeader]) {
        var writer = ByteWriter()
        writer.append(anchor)
        ProofHeaders.write(headers, after: 0, to: &writer)
        stored = writer.bytes
        self.anchor = anchor
    }

    /// - Throws: `badData` for bytes that are no proof.
    init(stored bytes: [UInt8]) throws {
        var reader = ByteReader(bytes)
        anchor = try reader.anchor()
        stored = bytes
    }

    /// The headers up to the anchor; some may be merged.
    /// - Throws: `badData` for bytes that are no proof.
    /// - Complexity: O(headers)
    func headers(of replica: ReplicaID) throws -> [TransactionHeader] {
        var reader = ByteReader(stored)
        _ = try reader.anchor()
        return try ProofHeaders.read(of: replica, after: 0, from: &reader)
    }
}
