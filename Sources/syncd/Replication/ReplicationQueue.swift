import SyncCore
import Synchronization

/// What happened to stores and remotes since the replicator last took it. Any thread may post, and
/// does not wait; equal events are kept once. The live path of commits posts here.
final class ReplicationQueue: Sendable {
    /// What happened to a store.
    struct Events: Sendable {
        /// It was opened, or its schema changed: it may have other remotes.
        var isNew = false
        /// How many transactions were committed that others lack.
        var committed = 0
        /// Who the file belongs to; nil: as before.
        var owner: UInt32?
        /// It was closed.
        var isClosed = false
        /// The remotes that changed.
        var remotes: ExactSet = []
    }

    private let events = Mutex<ExactMap<Events>>([:])
    private let signal: AsyncStream<Void>.Continuation
    /// An element whenever there are events.
    let signals: AsyncStream<Void>

    init() {
        (signals, signal) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Adds to the events of a store.
    func post(about path: String, _ change: (inout Events) -> Void) {
        events.withLock { change(&$0[path, default: Events()]) }
        signal.yield()
    }

    /// Wakes the replicator.
    func wake() { signal.yield() }

    /// Takes all events by path.
    func take() -> ExactMap<Events> {
        events.withLock { events in
            defer { events = [:] }
            return events
        }
    }
}
