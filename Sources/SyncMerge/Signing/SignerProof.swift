import SyncValues

/// What proves that a replica wrote the transactions that a batch has of it: from ``start`` over
/// the batch's headers and ``headers`` its chain arrives at ``anchor``, which it has signed.
package struct SignerProof: Sendable, Hashable {
    /// The replica's public key.
    package let key: VerifyingKey
    /// The replica's newest transaction that is not signed; 0: all are.
    package let first: Int64
    /// The link at the batch's start. In a snapshot with gaps the link above which no header of
    /// the replica is missing.
    package let start: ChainLink
    /// An anchor at the batch's end or beyond it.
    package let anchor: Anchor
    /// The headers of the replica after the batch's end, up to the anchor: number, time, and what
    /// the writer had merged of others.
    package let headers: [TransactionHeader]

    /// Makes a proof.
    package init(
        key: VerifyingKey, first: Int64, start: ChainLink, anchor: Anchor,
        headers: [TransactionHeader] = []
    ) {
        self.key = key
        self.first = first
        self.start = start
        self.anchor = anchor
        self.headers = headers
    }
}

extension SignerProof {
    /// Writes all but the headers.
    func write(to writer: inout ByteWriter) {
        writer.append(raw: key.bytes)
        writer.append(varint: UInt64(first))
        writer.append(start)
        writer.append(anchor)
    }

    /// Reads what ``write(to:)`` writes.
    /// - Throws: `badData`.
    static func read(from reader: inout ByteReader) throws -> SignerProof {
        SignerProof(
            key: try reader.verifyingKey(), first: try reader.transactionNumber(),
            start: try reader.link(), anchor: try reader.anchor())
    }

    /// The proof with headers after the batch.
    package func with(headers: [TransactionHeader]) -> SignerProof {
        SignerProof(key: key, first: first, start: start, anchor: anchor, headers: headers)
    }
}
