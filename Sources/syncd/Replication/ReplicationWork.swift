import SyncRemotes
import SyncReplica

/// Exchanges one store with its remotes. Calls block on the store: use a ``BlockingExecutor``.
struct ReplicationWork: Sendable {
    /// The path of the database, with symbolic links resolved.
    let path: String

    /// How often merge records that no replica needs any more are deleted.
    private static let collectionInterval: Duration = .seconds(86_400)

    /// The store's remotes and its replica identifier.
    /// - Throws: what opening and reading the store throws.
    func remotes() async throws -> (entries: [RemoteEntry], replica: ReplicaID) {
        let store = try Store.open(path, isResolved: true)
        defer { try? store.close() }
        return (try store.remotes(), store.replica)
    }

    /// Pulls from a remote, then pushes to it.
    /// - Throws: what the exchange throws; `notAllowed` when a key is missing, after everything
    ///   that is readable without it has been merged.
    func exchange(_ entry: RemoteEntry) async throws -> ExchangeReport {
        let ring = try keyRing()
        let replica = try StoreReplica(path, isResolved: true)
        defer { try? replica.close() }
        return try await replica.exchange(
            .sync, with: entry, ring: ring, completed: { _ in try collect(replica) })
    }

    private func collect(_ replica: StoreReplica) throws {
        do {
            try replica.collect(every: Self.collectionInterval)
        } catch let error as SyncError where error.code == .busy {
            // Deferred until after the next exchange.
        }
    }

    private func keyRing() throws -> KeyRing {
        let store = try Store.open(path, isResolved: true)
        defer { try? store.close() }
        return try store.keyRing()
    }
}
