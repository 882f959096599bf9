import SyncValues

/// A link of a replica's chain that the replica has signed: the proof that all transactions up to
/// it are its own.
package struct Anchor: Sendable, Hashable {
    /// The link.
    package let link: ChainLink
    /// The replica's signature of it.
    package let signature: Signature

    /// A stored anchor.
    package init(link: ChainLink, signature: Signature) {
        self.link = link
        self.signature = signature
    }

    /// Signs a link.
    /// - Throws: `internalFault`.
    package init(
        _ link: ChainLink, store: StoreID, replica: ReplicaID, with key: SigningKey
    ) throws {
        self.link = link
        signature = try key.signature(
            of: Self.signed(link, store: store, replica: replica), for: .anchor)
    }

    /// Whether the replica with this key has signed it.
    package func isSigned(store: StoreID, replica: ReplicaID, by key: VerifyingKey) -> Bool {
        key.isValid(
            signature, of: Self.signed(link, store: store, replica: replica), for: .anchor)
    }

    private static func signed(
        _ link: ChainLink, store: StoreID, replica: ReplicaID
    ) -> [UInt8] {
        let number = (0..<8).map { UInt8(truncatingIfNeeded: link.number >> (56 - 8 * $0)) }
        return store.bytes + replica.bytes + number + link.hash
    }
}

extension ByteWriter {
    /// Writes an anchor: link, signature.
    package mutating func append(_ anchor: Anchor) {
        append(anchor.link)
        append(raw: anchor.signature.bytes)
    }
}

extension ByteReader {
    /// Reads an anchor.
    /// - Throws: `badData` as ``link()``.
    package mutating func anchor() throws -> Anchor {
        let link = try link()
        return Anchor(link: link, signature: try signature())
    }

    /// Reads a signature.
    /// - Throws: `badData` when the bytes end too soon.
    package mutating func signature() throws -> Signature {
        guard let signature = Signature(bytes: Array(try raw(Signature.byteCount))) else {
            throw SyncError(.badData, "a signature has 64 bytes")
        }
        return signature
    }

    /// Reads a public key.
    /// - Throws: `badData` when the bytes end too soon.
    package mutating func verifyingKey() throws -> VerifyingKey {
        guard let key = VerifyingKey(bytes: Array(try raw(VerifyingKey.byteCount))) else {
            throw SyncError(.badData, "a public key has 32 bytes")
        }
        return key
    }

    /// Reads a number of a transaction, or 0.
    /// - Throws: `badData` when it is out of range.
    package mutating func transactionNumber() throws -> Int64 {
        guard let number = Int64(exactly: try varint()) else {
            throw SyncError(.badData, "a transaction's number is out of range")
        }
        return number
    }
}
