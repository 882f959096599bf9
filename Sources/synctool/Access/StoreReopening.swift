import SyncClient
import SyncCore

/// Makes the daemon open a file again that a command made another store or replica.
struct StoreReopening {
    let options: AccessOptions

    /// Tracking a tracked store changes nothing, but makes the daemon close and reopen the file.
    ///
    /// - Parameter done: what the command has done, for the hint of a failure.
    /// - Throws: `busy` where a daemon does not answer; nothing where none runs.
    func run(_ path: String, after done: String) async throws {
        let client = StoreClient(socket: options.socket)
        do {
            let summaries = try await client.answer(within: StoreClient.answerMax) {
                try await client.list()
            }
            guard let summaries else {
                // Not as if none ran.
                throw SyncError(.busy, client.silence(after: StoreClient.answerMax).reason)
            }
            guard summaries.contains(where: { $0.path.hasBytes(of: path) }) else { return }
            let entities = try await client.status(path).entities.map(\.name)
            guard !entities.isEmpty else { return }
            _ = try await client.track(path, entities: entities)
        } catch let error as SyncError where error.code == .unreachable && options.socket == nil {
            // No daemon runs.
        } catch var error as SyncError {
            error.hint =
                "\(done), but the daemon still uses the former one. Restart it: systemctl restart "
                + "syncd"
            throw error
        }
    }
}
