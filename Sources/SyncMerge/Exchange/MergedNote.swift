import Crypto
import SyncValues

/// The vector that a replica has merged, as a file: `SYNV`, version 1, store, vector, and the first
/// 8 bytes of SHA-256 over all that.
package enum MergedNote {
    /// The limit of a note's length.
    package static let bytesMax = BatchLimits.envelopeBytesMax
    private static let head: [UInt8] = [0x53, 0x59, 0x4e, 0x56, 1]
    private static let checkBytes = 8

    /// The note's bytes.
    package static func encode(_ vector: VersionVector, store: StoreID) -> [UInt8] {
        var writer = ByteWriter()
        writer.append(raw: head)
        writer.append(store)
        writer.append(vector)
        return writer.bytes + SHA256.hash(data: writer.bytes).prefix(checkBytes)
    }

    /// Reads a note.
    /// - Throws: `badData` for anything that is not a whole note of the store.
    package static func decode(_ bytes: [UInt8], store: StoreID) throws -> VersionVector {
        var reader = ByteReader(bytes)
        guard try reader.raw(head.count).elementsEqual(head),
            try reader.identifier(StoreID.self) == store
        else { throw SyncError(.badData, "this is not a note of the store") }
        let vector = try reader.vector()
        let check = SHA256.hash(data: bytes[..<reader.position]).prefix(checkBytes)
        guard try reader.raw(checkBytes).elementsEqual(check), reader.isAtEnd else {
            throw SyncError(.badData, "the note is damaged")
        }
        return vector
    }
}
