import Crypto
import SyncValues

/// A replica as a remote: what `synctool serve` offers to the other side.
///
/// It keeps transactions, not batches: it cuts batches from its store for each request, and a batch
/// that is appended is merged at once or refused.
///
/// What a receiver lacks is extracted once, and made and offered in portions: a catalog lists the
/// next one, so that memory does not grow with the store. A receiver that has merged it asks for
/// the catalog again. The batches of a portion are kept until then, so that they are not made again
/// for a receiver that merges one after the other.
package actor ReplicaRemote<Local: Replica>: Remote {
    /// Bytes of batches in one portion, unless one batch has more.
    private static var portionBytesMax: Int { 4 << 20 }

    private struct Offer {
        /// What the replica had merged when it was made.
        let vector: VersionVector
        let source: any BatchSource
        /// How many batches were made.
        var madeCount = 0
        /// Those of the last portion.
        var items: [BatchCatalog.Item] = []
        var batches: [String: [UInt8]] = [:]
        /// What a receiver has merged after them.
        var end: VersionVector
    }

    private let replica: Local
    private let portionBytesMax: Int
    private var offer: Offer?
    private var offers = 0
    private var acknowledgements: [ReplicaID: VersionVector] = [:]
    private var noted: [ReplicaID: [UInt8]] = [:]

    /// Offers a replica.
    /// - Parameter portionBytesMax: bytes of batches in one portion; nil: as many as usual.
    package init(_ replica: Local, portionBytesMax: Int? = nil) {
        self.replica = replica
        self.portionBytesMax = portionBytesMax ?? Self.portionBytesMax
    }

    package func catalog(since: VersionVector) async throws -> BatchCatalog {
        let vector = try await replica.vector
        if let current = offer, current.madeCount < current.source.count,
            since.covers(current.end)
        {
            // What was merged since then is offered after the last portion.
            let next = try catalogOfNext(since: since)
            if !next.items.isEmpty { return next }
        }
        if let offer {
            let rest = BatchCatalog(offer.items.filter { !since.covers($0.envelope.upTo) })
            if offer.vector == vector, rest.reach(since: since).covers(offer.end) { return rest }
        }
        offers += 1
        offer = Offer(
            vector: vector, source: try await replica.outgoing(since: since), end: since)
        return try catalogOfNext(since: since)
    }

    /// Makes the next portion of the offer. Batches that a receiver has got elsewhere meanwhile
    /// count for none: it takes an empty catalog for the end.
    private func catalogOfNext(since: VersionVector) throws -> BatchCatalog {
        guard var next = offer else { return BatchCatalog([]) }
        (next.items, next.batches) = ([], [:])
        var bytes = 0
        while next.madeCount < next.source.count, bytes < portionBytesMax {
            let batch = try next.source.batch(at: next.madeCount)
            let name = "\(offers)-\(next.madeCount)-\(Self.digest(of: batch))"
            let envelope = try BatchEnvelope.read(batch).envelope
            next.end.join(envelope.upTo)
            next.madeCount += 1
            if since.covers(envelope.upTo) { continue }
            next.items.append(.init(name: name, envelope: envelope))
            next.batches[name] = batch
            bytes += batch.count
        }
        offer = next
        return BatchCatalog(next.items)
    }

    /// A receiver that had to connect again is served by another process: a name that it has seen
    /// must not be that of another batch.
    private static func digest(of batch: [UInt8]) -> String {
        Hex.encode(Array(SHA256.hash(data: batch).prefix(8)))
    }

    package func head() async throws -> VersionVector { try await replica.vector }

    package func fetch(_ item: BatchCatalog.Item) async throws -> [UInt8] {
        try batch(named: item.name)
    }

    /// The bytes of a batch of the last catalog.
    /// - Throws: `unreachable` when the batch is not in the last catalog.
    package func batch(named name: String) throws -> [UInt8] {
        guard let batch = offer?.batches[name] else {
            throw SyncError(.unreachable, "the batch is not offered any more", hint: "Try again")
        }
        return batch
    }

    package func append(_ batch: [UInt8]) async throws {
        let decoded = try BatchDecoder.decode(batch)
        guard decoded.store == (try await replica.store) else {
            throw SyncError(.refused, "the batch belongs to another store")
        }
        guard try await replica.merge(batch) else {
            throw SyncError(.refused, "the batch starts after what the store has")
        }
    }

    package func acknowledge(_ vector: VersionVector, of replica: ReplicaID) async throws {
        acknowledgements[replica] = vector
        try await self.replica.noteAcknowledged([replica: vector])
    }

    /// Compares at once: the other side's replica need not ask again for this one to know.
    package func noteSums(_ sums: [UInt8], of replica: ReplicaID) async throws {
        noted[replica] = sums
        _ = try await self.replica.compare([replica: sums])
    }

    package func notedSums() async throws -> [ReplicaID: [UInt8]] {
        var all = noted
        if let own = try await replica.sums { all[try await replica.replicaID] = own }
        return all
    }

    package func acknowledged() async throws -> [ReplicaID: VersionVector] {
        acknowledgements.merging([try await replica.replicaID: try await replica.vector]) { $1 }
    }
}
