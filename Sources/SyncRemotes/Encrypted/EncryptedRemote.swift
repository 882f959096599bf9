import SyncMerge

/// A remote whose batches are sealed with the store's keys: whoever carries them sees sizes and
/// vectors alone.
///
/// Policy
/// - Batches under a key that is not here are passed over, and named with the key; what can be
///   read is merged all the same. A push is refused then: what it would send again might be there.
/// - Where sealing is on, batches in the clear count as not there: the next push sends what they
///   held, sealed.
package struct EncryptedRemote<Inner: Remote>: Remote {
    private let inner: Inner
    private let ring: KeyRing
    private let isSealing: Bool

    /// Wraps a remote.
    /// - Parameter isSealing: whether what is sent is sealed; what comes sealed is opened anyway.
    package init(_ inner: Inner, ring: KeyRing, isSealing: Bool) {
        self.inner = inner
        self.ring = ring
        self.isSealing = isSealing
    }

    package func catalog(since: VersionVector) async throws -> BatchCatalog {
        let catalog = try await inner.catalog(since: since)
        var items: [BatchCatalog.Item] = []
        var problems = catalog.problems
        for item in catalog.items {
            if let key = item.envelope.key, ring[key] == nil {
                problems.append(
                    .init(
                        name: item.name, reason: BatchSeal.missingKey(key).reason, missingKey: key))
            } else if item.envelope.key == nil, isSealing {
                problems.append(
                    .init(name: item.name, reason: "the batch is not encrypted, as it should be"))
            } else {
                items.append(item)
            }
        }
        return BatchCatalog(items, problems: problems)
    }

    package func head() async throws -> VersionVector {
        let catalog = try await catalog(since: VersionVector())
        if let key = catalog.problems.lazy.compactMap(\.missingKey).first {
            throw BatchSeal.missingKey(key)
        }
        return catalog.reach(since: VersionVector())
    }

    package func fetch(_ item: BatchCatalog.Item) async throws -> [UInt8] {
        try BatchSeal.open(try await inner.fetch(item), with: ring)
    }

    package func append(_ batch: [UInt8]) async throws {
        guard isSealing else { return try await inner.append(batch) }
        guard let key = ring.activeKey else {
            throw SyncError(
                .refused, "the remote is encrypted, and the store has no key",
                hint: "Run: synctool key make DB, or synctool key import DB FILE")
        }
        // What is no batch has to be refused before it looks like one.
        _ = try BatchDecoder.decode(batch)
        try await inner.append(try BatchSeal.seal(batch, with: key))
    }

    package func acknowledge(_ vector: VersionVector, of replica: ReplicaID) async throws {
        try await inner.acknowledge(vector, of: replica)
    }

    package func acknowledged() async throws -> [ReplicaID: VersionVector] {
        try await inner.acknowledged()
    }

    package func ask(for collected: VersionVector) async throws {
        try await inner.ask(for: collected)
    }

    package func asked() async throws -> [VersionVector] { try await inner.asked() }

    /// Also those in the clear: what takes their place is sealed.
    package func ownBatches(ifMoreThan count: Int) async throws -> [BatchCatalog.Item] {
        try await inner.ownBatches(ifMoreThan: count)
    }

    package func remove(_ items: [BatchCatalog.Item]) async throws {
        try await inner.remove(items)
    }

    package func disconnect() async { await inner.disconnect() }
}
