import Crypto
import SyncValues

/// One link of a replica's chain of transactions: a hash of all headers from the one after
/// *first* up to a number (docs/batch-format.md, *The chain*).
///
/// Equal links mean equal transactions before them, no matter who carried them in what parts. The
/// chain covers number, time, and what the writer had merged of others; not the changes, which a
/// store renumbers and collects.
package struct ChainLink: Sendable, Hashable {
    /// The length of the hash.
    package static let hashBytes = SHA256.byteCount

    /// The number of the last transaction that it covers; *first* where it covers none.
    package let number: Int64
    /// The hash.
    package let hash: [UInt8]

    /// A stored link.
    /// - Parameter hash: exactly 32 bytes; nil otherwise.
    package init?(number: Int64, hash: [UInt8]) {
        guard hash.count == Self.hashBytes else { return nil }
        self.number = number
        self.hash = hash
    }

    private init(_ number: Int64, _ hash: SHA256.Digest) {
        self.number = number
        self.hash = Array(hash)
    }

    /// The start of a chain.
    /// - Parameter first: the newest number of the replica that is not signed; 0: all are.
    package init(store: StoreID, replica: ReplicaID, first: Int64) {
        var bytes = Array("syncd chain 2".utf8) + [0]
        bytes += store.bytes
        bytes += replica.bytes
        bytes += Self.be8(first)
        self.init(first, SHA256.hash(data: bytes))
    }

    /// The link after the next transaction of the replica.
    package func following(_ header: TransactionHeader) -> ChainLink {
        var others: [UInt8] = []
        for entry in header.seen.entries where entry.replica != header.dot.replica {
            others += entry.replica.bytes
            others += Self.be8(entry.number)
        }
        var bytes = hash
        bytes += Self.be8(header.dot.number)
        bytes += Self.be8(Int64(bitPattern: header.time.rawValue))
        bytes += SHA256.hash(data: others)
        return ChainLink(header.dot.number, SHA256.hash(data: bytes))
    }

    /// The link after several transactions of the replica, in the order of their numbers; those
    /// that the link covers are passed over.
    /// - Complexity: O(headers), some 2 µs each
    package func following(_ headers: some Sequence<TransactionHeader>) -> ChainLink {
        headers.reduce(self) { $1.dot.number > $0.number ? $0.following($1) : $0 }
    }

    private static func be8(_ number: Int64) -> [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
    }
}

extension ByteWriter {
    /// Writes a link: number, hash.
    package mutating func append(_ link: ChainLink) {
        append(varint: UInt64(link.number))
        append(raw: link.hash)
    }
}

extension ByteReader {
    /// Reads a link.
    /// - Throws: `badData` when the bytes end too soon, or for a number that is out of range.
    package mutating func link() throws -> ChainLink {
        let number = try varint()
        guard let number = Int64(exactly: number),
            let link = ChainLink(number: number, hash: Array(try raw(ChainLink.hashBytes)))
        else { throw SyncError(.badData, "a link's number is out of range") }
        return link
    }
}
