import SyncRemotes
import SyncReplica

/// One exchange of one store with one remote. Blocks on the store: on a ``BlockingExecutor``.
struct ReplicationWork: Sendable {
    /// Links resolved.
    let path: String

    /// How often what no replica needs any more is dropped.
    private static let collectionInterval: Duration = .seconds(86_400)

    /// The store's remotes, and the replica that it is.
    func remotes() async throws -> (entries: [RemoteEntry], replica: ReplicaID) {
        let store = try Store.open(path, isResolved: true)
        defer { try? store.close() }
        return (try store.remotes(), store.replica)
    }

    /// Merges what is there, and sends what is not.
    /// - Throws: what the exchange throws; `notAllowed` when a key is missing, after all that could
    ///   be merged without it.
    func exchange(_ entry: RemoteEntry) async throws -> ExchangeReport {
        let ring = try keyRing()
        let replica = try StoreReplica(path, isResolved: true)
        defer { try? replica.close() }
        let remote = try RemoteConnection(
            entry, store: replica.storeID, replica: replica.replicaID, ring: ring)
        do {
            let report = try await remote.exchange(.sync, replica)
            await remote.disconnect()
            try collect(replica)
            if let key = report.missingKey { throw BatchSeal.missingKey(key) }
            return report
        } catch {
            await remote.disconnect()
            throw error
        }
    }

    private func collect(_ replica: StoreReplica) throws {
        do {
            try replica.collect(every: Self.collectionInterval)
        } catch let error as SyncError where error.code == .busy {
            // After the next exchange, then.
        }
    }

    private func keyRing() throws -> KeyRing {
        let store = try Store.open(path, isResolved: true)
        defer { try? store.close() }
        return try store.keyRing()
    }
}
