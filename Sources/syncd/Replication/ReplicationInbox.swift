import Synchronization

/// What happened to stores and remotes since the replicator looked last: taken from whatever
/// thread, in no time, and once however often it happened. The live path of commits calls it.
final class ReplicationInbox: Sendable {
    /// What happened to a store.
    struct News: Sendable {
        /// It was opened, or its schema changed: it may have other remotes.
        var isNew = false
        /// Somebody committed something that others lack.
        var isCommitted = false
        /// It is not there any more.
        var isClosed = false
        /// The remotes that changed.
        var remotes: Set<String> = []
    }

    private let news = Mutex<[String: News]>([:])
    private let wakes: AsyncStream<Void>.Continuation
    /// Says when there is news.
    let wakeUps: AsyncStream<Void>

    init() {
        (wakeUps, wakes) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Takes news of a store.
    func tell(_ path: String, _ change: (inout News) -> Void) {
        news.withLock { change(&$0[path, default: News()]) }
        wakes.yield()
    }

    /// Wakes the replicator.
    func wake() { wakes.yield() }

    /// All news since the last time.
    func take() -> [String: News] {
        news.withLock { news in
            defer { news = [:] }
            return news
        }
    }
}
