import SyncValues

/// An answer of `synctool serve --stdio`, as the body of a frame.
package enum ServeAnswer: Sendable {
    /// Still working: the answer follows.
    case working
    /// The store and the replica that answer; the first answer of a session.
    case hello(StoreID, ReplicaID)
    /// The batches that may be fetched.
    case catalog(BatchCatalog)
    /// A vector.
    case vector(VersionVector)
    /// The bytes of a batch, or of a schema.
    case bytes([UInt8])
    /// What the replicas have acknowledged.
    case acknowledged([ReplicaID: VersionVector])
    /// The sums that the replicas have stated.
    case sums([ReplicaID: [UInt8]])
    /// Done.
    case done
    /// What went wrong.
    case failure(SyncError)

    /// The limit of batches in one catalog.
    private static let itemsMax = 1 << 20
    /// The limit of replicas that acknowledge.
    private static let replicasMax = 1 << 16

    /// The body of the frame.
    package func encoded() -> [UInt8] {
        var writer = ByteWriter()
        switch self {
        case .working: writer.append(byte: 0)
        case .hello(let store, let replica):
            writer.append(byte: 1)
            writer.append(store)
            writer.append(replica)
        case .catalog(let catalog):
            writer.append(byte: 2)
            writer.append(varint: UInt64(catalog.items.count))
            for item in catalog.items {
                writer.append(counted: Array(item.name.utf8))
                writer.append(counted: item.envelope.encoded())
            }
        case .vector(let vector):
            writer.append(byte: 3)
            writer.append(vector)
        case .bytes(let bytes):
            writer.append(byte: 4)
            writer.append(raw: bytes)
        case .acknowledged(let vectors):
            writer.append(byte: 5)
            writer.append(varint: UInt64(vectors.count))
            for (replica, vector) in vectors.sorted(by: { $0.key < $1.key }) {
                writer.append(replica)
                writer.append(vector)
            }
        case .sums(let sums):
            writer.append(byte: 8)
            writer.append(varint: UInt64(sums.count))
            for (replica, bytes) in sums.sorted(by: { $0.key < $1.key }) {
                writer.append(replica)
                writer.append(counted: bytes)
            }
        case .done: writer.append(byte: 6)
        case .failure(let error):
            writer.append(byte: 7)
            for text in [error.code.name, error.reason, error.path ?? "", error.hint ?? ""] {
                writer.append(counted: Array(text.utf8))
            }
        }
        return writer.bytes
    }

    /// Reads the body of a frame.
    /// - Throws: `badData`; `newerFormat` for an answer of a later version.
    package init(_ bytes: [UInt8]) throws {
        var reader = ByteReader(bytes)
        switch try reader.byte() {
        case 0: self = .working
        case 1:
            self = .hello(
                try reader.identifier(StoreID.self), try reader.identifier(ReplicaID.self))
        case 2: self = .catalog(try Self.catalog(&reader))
        case 3: self = .vector(try reader.vector())
        case 4: self = .bytes(Array(try reader.raw(reader.remaining)))
        case 5: self = .acknowledged(try Self.acknowledged(&reader))
        case 6: self = .done
        case 7: self = .failure(try Self.failure(&reader))
        case 8: self = .sums(try Self.sums(&reader))
        case let kind:
            throw SyncError(
                .newerFormat, "answer \(kind) is not known here",
                hint: "Update syncd on this machine")
        }
        try reader.finish()
    }

    private static func catalog(_ reader: inout ByteReader) throws -> BatchCatalog {
        var items: [BatchCatalog.Item] = []
        for _ in 0..<(try reader.countOfRest(atMost: itemsMax)) {
            let name = try reader.text(atMost: 256)
            let bytes = try reader.counted(atMost: BatchLimits.envelopeBytesMax + 64)
            let (envelope, end) = try BatchEnvelope.read(Array(bytes))
            guard end == bytes.count else { throw SyncError(.badData, "an envelope has a tail") }
            items.append(.init(name: name, envelope: envelope))
        }
        return BatchCatalog(items)
    }

    private static func acknowledged(
        _ reader: inout ByteReader
    ) throws -> [ReplicaID: VersionVector] {
        var vectors: [ReplicaID: VersionVector] = [:]
        for _ in 0..<(try reader.countOfRest(atMost: replicasMax)) {
            let replica = try reader.identifier(ReplicaID.self)
            vectors[replica] = try reader.vector()
        }
        return vectors
    }

    private static func sums(_ reader: inout ByteReader) throws -> [ReplicaID: [UInt8]] {
        var sums: [ReplicaID: [UInt8]] = [:]
        for _ in 0..<(try reader.countOfRest(atMost: replicasMax)) {
            let replica = try reader.identifier(ReplicaID.self)
            sums[replica] = Array(try reader.counted(atMost: StateSums.bytesMax))
        }
        return sums
    }

    private static func failure(_ reader: inout ByteReader) throws -> SyncError {
        let code = SyncError.Code(try reader.text(atMost: 256))
        let texts = try (0..<3).map { _ in try reader.text(atMost: 1 << 16) }
        return SyncError(
            code, texts[0], path: texts[1].isEmpty ? nil : texts[1],
            hint: texts[2].isEmpty ? nil : texts[2])
    }
}
