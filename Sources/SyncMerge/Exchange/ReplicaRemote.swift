import Crypto
import SyncValues

/// A replica as a remote: what `synctool serve` offers to the other side.
///
/// It keeps transactions, not batches: it cuts batches from its store for each request, and a batch
/// that is appended is merged at once or refused. The batches of the last request are kept, so that
/// they are not made again for a receiver that merges one after the other.
package actor ReplicaRemote<Local: Replica>: Remote {
    private struct Offer {
        let vector: VersionVector
        let items: [BatchCatalog.Item]
        let batches: [String: [UInt8]]
    }

    private let replica: Local
    private var offer: Offer?
    private var offers = 0
    private var acknowledgements: [ReplicaID: VersionVector] = [:]
    private var noted: [ReplicaID: [UInt8]] = [:]

    /// Offers a replica.
    package init(_ replica: Local) { self.replica = replica }

    package func catalog(since: VersionVector) async throws -> BatchCatalog {
        let vector = try await replica.vector
        if let offer, offer.vector == vector {
            let rest = BatchCatalog(offer.items.filter { !since.covers($0.envelope.upTo) })
            if rest.reach(since: since).covers(vector) { return rest }
        }
        offers += 1
        var items: [BatchCatalog.Item] = []
        var batches: [String: [UInt8]] = [:]
        for (place, batch) in try await replica.batches(since: since).enumerated() {
            let name = "\(offers)-\(place)-\(Self.digest(of: batch))"
            items.append(.init(name: name, envelope: try BatchEnvelope.read(batch).envelope))
            batches[name] = batch
        }
        offer = Offer(vector: vector, items: items, batches: batches)
        return BatchCatalog(items)
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
