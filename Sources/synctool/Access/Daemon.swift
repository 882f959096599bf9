import SyncClient
import SyncCore

/// The daemon itself: what commands ask that are not about one store.
struct Daemon: Sendable {
    let client: StoreClient

    func stores() async throws -> [StoreSummary] { try await client.list() }

    func store(_ path: String) -> any StoreAccess { DaemonAccess(client: client, path: path) }

    /// Leaves the file as it is; only the daemon forgets it.
    func forget(_ path: String) async throws {
        try await client.untrack(StorePath.absolute(path), forget: true)
    }
}
