import SyncClient
import SyncCore

/// Keeps a subscription to a store with syncd until its task is cancelled. While syncd is not
/// running, or refuses the subscription, it tries again.
struct DaemonSubscriber: Sendable {
    /// What becomes of the subscription.
    struct Handlers: Sendable {
        /// The position to subscribe from; nil while there is none.
        let token: @Sendable () async -> Token?
        /// Takes a notice. False ends the subscription, so that a new one begins.
        let take: @Sendable (Notice) async -> Bool
        /// History cannot be continued from the token.
        let resync: @Sendable (SyncError) async -> Void
        /// The subscription began or ended.
        let connected: @Sendable (Bool) -> Void
        /// The subscription failed; not called when syncd is merely not running.
        let failed: @Sendable (any Error) -> Void
    }

    let client: StoreClient
    let path: String

    /// The delay before the next attempt, doubled from the minimum to the maximum. Until then
    /// commits are found by watching the file.
    private static let delayMin: Duration = .milliseconds(100)
    private static let delayMax: Duration = .seconds(3)

    func run(_ handlers: Handlers) async {
        var delay = Self.delayMin
        while !Task.isCancelled {
            if let token = await handlers.token() {
                do {
                    for try await notice in client.subscribe(path, after: token) {
                        delay = Self.delayMin
                        handlers.connected(true)
                        guard await handlers.take(notice) else { break }
                    }
                } catch let error as SyncError where error.needsResync {
                    await handlers.resync(error)
                } catch let error as SyncError where error.code == .unreachable {
                    // syncd is not running: no error, because the file is watched.
                } catch {
                    handlers.failed(error)
                }
                handlers.connected(false)
            }
            try? await Task.sleep(for: delay)
            delay = min(delay * 2, Self.delayMax)
        }
    }
}
