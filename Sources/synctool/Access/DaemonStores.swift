import SyncClient
import SyncCore

/// The stores of the daemon, for commands that are not about one store.
struct DaemonStores: Sendable {
    let client: StoreClient

    func all() async throws -> [StoreSummary] { try await client.list() }

    func store(_ path: String) -> any StoreAccess { DaemonAccess(client: client, path: path) }

    /// Removes a store from the daemon; the file is not changed.
    func forget(_ path: String) async throws {
        try await client.untrack(StorePath.absolute(path), forget: true)
    }
}
