import SyncCore
import Varlink

extension Subscription {
    /// Iterates over a subscription's notices; connects, and reconnects when the connection is
    /// lost.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// How long to wait before connecting again: doubled from the least to the most. Shorter
        /// would load a machine whose daemon is down; longer delays notices after a restart.
        private static let delayMin: Duration = .milliseconds(20)
        private static let delayMax: Duration = .seconds(2)

        private let subscription: Subscription
        private var replies: Replies.AsyncIterator?
        private var waiting: ArraySlice<Notice> = []
        private var delay = Self.delayMin
        private var wasConnected = false
        /// Whether the daemon has accepted the subscription at least once.
        private var hasBegun = false
        private var hasEnded = false

        init(_ subscription: Subscription) { self.subscription = subscription }

        /// The next notice; nil when the task was cancelled.
        ///
        /// - Throws: ``SyncError``; the stream has then ended.
        public mutating func next() async throws -> Notice? {
            while !hasEnded {
                if let notice = waiting.popFirst() { return notice }
                do {
                    try await receive()
                } catch is CancellationError {
                    hasEnded = true
                } catch {
                    try await recover(from: error)
                }
            }
            return nil
        }

        private mutating func receive() async throws {
            if replies == nil {
                let client = try await subscription.client.connection.connect()
                wasConnected = true
                replies = client.callMore(
                    StoreInterface.method("Subscribe"), with: subscription.parameters()
                ).makeAsyncIterator()
            }
            guard let reply = try await replies?.next() else {
                try Task.checkCancellation()
                throw TransportError(.connectionLost, "the daemon ended the subscription")
            }
            waiting = try subscription.accept(reply)[...]
            hasBegun = true
            delay = Self.delayMin
        }

        /// Waits for the daemon to come back, or gives up.
        private mutating func recover(from error: any Error) async throws {
            replies = nil
            subscription.lostConnection()
            let error = SyncError(answer: error, socket: subscription.client.socket)
            // A socket that was just made may have its final mode a moment later.
            let isAway = error.code == .unreachable || error.underlying is TransportError
            // Busy: the file passes to the process of another owner, or is replaced.
            guard isAway && wasConnected || error.isTransient && hasBegun else {
                hasEnded = true
                throw error
            }
            do {
                try await Task.sleep(for: delay * Double.random(in: 0.75...1.25))
            } catch {
                hasEnded = true
            }
            delay = Swift.min(delay * 2, Self.delayMax)
        }
    }
}
