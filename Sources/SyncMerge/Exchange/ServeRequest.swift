import SyncValues

/// A request to `synctool serve --stdio`, as the body of a frame (docs/remotes.md).
package enum ServeRequest: Sendable, Hashable {
    /// The batches that a receiver that has merged the vector may fetch.
    case catalog(VersionVector)
    /// What a receiver that starts with nothing can merge.
    case head
    /// The bytes of a batch of the last catalog.
    case fetch(String)
    /// Appends a batch.
    case append([UInt8])
    /// The client's replica has merged this.
    case acknowledge(ReplicaID, VersionVector)
    /// What the replicas have acknowledged.
    case acknowledged
    /// The client's replica states these sums.
    case noteSums(ReplicaID, [UInt8])
    /// The sums that replicas have stated.
    case notedSums

    /// The body of the frame.
    package func encoded() -> [UInt8] {
        var writer = ByteWriter()
        switch self {
        case .catalog(let vector):
            writer.append(byte: 1)
            writer.append(vector)
        case .head: writer.append(byte: 2)
        case .fetch(let name):
            writer.append(byte: 3)
            writer.append(raw: Array(name.utf8))
        case .append(let batch):
            writer.append(byte: 4)
            writer.append(raw: batch)
        case .acknowledge(let replica, let vector):
            writer.append(byte: 5)
            writer.append(replica)
            writer.append(vector)
        case .acknowledged: writer.append(byte: 6)
        case .noteSums(let replica, let sums):
            writer.append(byte: 7)
            writer.append(replica)
            writer.append(raw: sums)
        case .notedSums: writer.append(byte: 8)
        }
        return writer.bytes
    }

    /// Reads the body of a frame.
    /// - Throws: `badData`; `newerFormat` for a request of a later version.
    package init(_ bytes: [UInt8]) throws {
        var reader = ByteReader(bytes)
        switch try reader.byte() {
        case 1: self = .catalog(try reader.vector())
        case 2: self = .head
        case 3: self = .fetch(try ByteReader.text(try reader.raw(reader.remaining)))
        case 4: self = .append(Array(try reader.raw(reader.remaining)))
        case 5: self = .acknowledge(try reader.identifier(ReplicaID.self), try reader.vector())
        case 6: self = .acknowledged
        case 7:
            self = .noteSums(
                try reader.identifier(ReplicaID.self), Array(try reader.raw(reader.remaining)))
        case 8: self = .notedSums
        case let kind:
            throw SyncError(
                .newerFormat, "request \(kind) is not known here",
                hint: "Update syncd on this machine")
        }
        try reader.finish()
    }
}
