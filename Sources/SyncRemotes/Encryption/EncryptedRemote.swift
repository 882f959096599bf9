import SyncMerge
import Synchronization

/// A remote whose batches are encrypted with the store's keys: a carrier sees only sizes and
/// vectors.
///
/// Policy
/// - Batches under a missing key are skipped and reported with the key. Readable batches are still
///   merged, but a push is refused: it might send again what is already there.
/// - Batches under a key that was replaced before they were made are left out and reported: their
///   sender was left out of the rotation.
/// - With `isSealing`, unencrypted batches are ignored: the next push sends their content again,
///   encrypted.
/// - Without it, nothing is sent where encrypted batches are: those who encrypt trust that the
///   folder shows nothing, and would pass over what is sent.
package struct EncryptedRemote<Inner: Remote>: Remote {
    private let inner: Inner
    private let ring: KeyRing
    private let isSealing: Bool
    /// What to do when the folder is encrypted and this remote is not.
    private let remedy: String
    private let clearance = Clearance()

    /// Whether the remote was found to have no encrypted batch: looked at once for each exchange.
    private final class Clearance: Sendable { let isClear = Mutex(false) }

    /// Wraps a remote.
    /// - Parameters:
    ///   - isSealing: whether outgoing batches are encrypted; incoming ones are decrypted in either
    ///     case.
    ///   - remedy: what to do when the folder is encrypted and `isSealing` is false.
    package init(
        _ inner: Inner, ring: KeyRing, isSealing: Bool,
        remedy: String = "Add the remote again, with --encrypt"
    ) {
        self.inner = inner
        self.ring = ring
        self.isSealing = isSealing
        self.remedy = remedy
    }

    package var keepsBatches: Bool { inner.keepsBatches }

    /// The batches that a receiver can fetch.
    /// - Throws: what the inner remote throws.
    package func catalog(since: VersionVector) async throws -> BatchCatalog {
        let catalog = try await inner.catalog(since: since)
        var items: [BatchCatalog.Item] = []
        var problems = catalog.problems
        for item in catalog.items {
            if let key = item.envelope.key, ring[key] == nil {
                problems.append(
                    .init(
                        name: item.name, reason: BatchSeal.missingKey(key).reason, missingKey: key,
                        envelope: item.envelope))
            } else if let newer = ring.replacement(of: item.envelope) {
                if !since.covers(item.envelope.upTo) {
                    problems.append(Self.isOutdated(item, since: newer))
                }
            } else if item.envelope.key == nil, isSealing {
                problems.append(
                    .init(name: item.name, reason: "the batch is not encrypted"))
            } else {
                items.append(item)
            }
        }
        return BatchCatalog(items, problems: problems)
    }

    private static func isOutdated(
        _ item: BatchCatalog.Item, since newer: KeyID
    ) -> BatchCatalog.Problem {
        .init(
            name: item.name,
            reason: "it is encrypted with a key that \(newer) has replaced, and was made after "
                + "that: replica \(item.envelope.sender), which sent it, does not have the new "
                + "key, or has not sent it again since",
            envelope: item.envelope)
    }

    /// How far the batches lead a receiver that has merged nothing.
    /// - Throws: `notAllowed` when a key is missing; what the inner remote throws.
    package func head() async throws -> VersionVector { try await head(for: Membership()) }

    /// The same without the batches that the members refuse.
    /// - Throws: as ``head()``.
    package func head(for members: Membership) async throws -> VersionVector {
        try await survey(for: members, knowing: VersionVector()).vector
    }

    /// The same, with what cannot be read.
    /// - Throws: as ``head()``.
    package func survey(
        for members: Membership, knowing known: VersionVector
    ) async throws -> RemoteHead {
        let catalog = try await catalog(since: VersionVector())
        if let key = catalog.problems.lazy.compactMap(\.missingKey).first {
            throw BatchSeal.missingKey(key)
        }
        return RemoteHead(catalog, for: members, knowing: known)
    }

    /// The bytes of a batch.
    /// - Throws: `notAllowed` when the key is missing, `badData` when the batch was modified; what
    ///   the inner remote throws.
    package func fetch(_ item: BatchCatalog.Item) async throws -> [UInt8] {
        try BatchSeal.open(try await inner.fetch(item), with: ring)
    }

    /// Adds a batch.
    /// - Throws: `refused` when the store has no key, or for an unencrypted batch where encrypted
    ///   ones are; `badData` for invalid bytes; what the inner remote throws.
    package func append(_ batch: [UInt8]) async throws {
        guard isSealing else {
            try await requireClear()
            return try await inner.append(batch)
        }
        guard let key = ring.activeKey else {
            throw SyncError(
                .refused, "the remote is encrypted, but the store has no key",
                hint: "Create one: synctool key make DB "
                    + "or import one: synctool key import DB FILE")
        }
        // Invalid bytes must be refused before sealing makes them look like a batch.
        _ = try BatchDecoder.decode(batch)
        try await inner.append(try BatchSeal.seal(batch, with: key))
    }

    private func requireClear() async throws {
        if clearance.isClear.withLock({ $0 }) { return }
        if let sealed = try await inner.catalog(since: VersionVector()).firstSealed {
            throw sealed.refusal(of: "nothing is sent", remedy: remedy)
        }
        clearance.isClear.withLock { $0 = true }
    }

    /// Records what a replica has merged.
    /// - Throws: what the inner remote throws.
    package func acknowledge(_ vector: VersionVector, of replica: ReplicaID) async throws {
        try await inner.acknowledge(vector, of: replica)
    }

    /// The vectors that replicas have acknowledged.
    /// - Throws: what the inner remote throws.
    package func acknowledged() async throws -> [ReplicaID: VersionVector] {
        try await inner.acknowledged()
    }

    /// States sums, sealed where batches are: who carries them learns nothing of rows that were
    /// guessed. A store without a key states none.
    /// - Throws: what the inner remote throws; `internalFault` when sealing fails.
    package func noteSums(_ sums: [UInt8], of replica: ReplicaID) async throws {
        guard isSealing else { return try await inner.noteSums(sums, of: replica) }
        guard let key = ring.activeKey else { return }
        try await inner.noteSums(try SumSeal.seal(sums, with: key), of: replica)
    }

    /// The sums that replicas have stated and that can be opened here.
    /// - Throws: what the inner remote throws.
    package func notedSums() async throws -> [ReplicaID: [UInt8]] {
        let noted = try await inner.notedSums()
        return isSealing ? noted.compactMapValues { SumSeal.open($0, with: ring) } : noted
    }

    /// Requests a snapshot, or withdraws the request.
    /// - Throws: what the inner remote throws.
    package func requestSnapshot(covering collected: VersionVector) async throws {
        try await inner.requestSnapshot(covering: collected)
    }

    /// The requests of other replicas.
    /// - Throws: what the inner remote throws.
    package func requestedSnapshots() async throws -> [VersionVector] {
        try await inner.requestedSnapshots()
    }

    /// - Throws: what the inner remote throws.
    package func noteDamaged(_ names: [String]) async throws {
        try await inner.noteDamaged(names)
    }

    /// Includes unencrypted batches: what replaces them is encrypted.
    /// - Throws: what the inner remote throws.
    package func ownBatches(ifMoreThan count: Int) async throws -> [BatchCatalog.Item] {
        try await inner.ownBatches(ifMoreThan: count)
    }

    /// Removes batches of the replica itself.
    /// - Throws: what the inner remote throws.
    package func remove(_ items: [BatchCatalog.Item]) async throws {
        try await inner.remove(items)
    }

    /// Removes damaged batches of the replica itself.
    /// - Throws: what the inner remote throws.
    package func removeUnusable(upTo number: Int64) async throws {
        try await inner.removeUnusable(upTo: number)
    }

    package func disconnect() async { await inner.disconnect() }
}
