import SyncClient
import SyncCore

/// Keeps a subscription to a store with syncd until its task is cancelled. While no daemon runs, or
/// it does not know the store, it asks again from time to time.
struct DaemonSubscriber: Sendable {
    let client: StoreClient
    let path: String

    /// How long until a daemon that is not there is looked for again: from the least, doubled, to
    /// the most. What it would have told meanwhile, the file does.
    private static let delayMin: Duration = .milliseconds(100)
    private static let delayMax: Duration = .seconds(3)

    func run(
        token: @Sendable () async -> Token?,
        take: @Sendable (Notice) async -> Bool,
        resync: @Sendable (SyncError) async -> Void,
        connected: @Sendable (Bool) -> Void
    ) async {
        var delay = Self.delayMin
        while !Task.isCancelled {
            if let token = await token() {
                do {
                    for try await notice in client.subscribe(path, after: token) {
                        delay = Self.delayMin
                        connected(true)
                        guard await take(notice) else { break }
                    }
                } catch let error as SyncError where error.needsResync {
                    await resync(error)
                } catch {}
                connected(false)
            }
            try? await Task.sleep(for: delay)
            delay = min(delay * 2, Self.delayMax)
        }
    }
}
