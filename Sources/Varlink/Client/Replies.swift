import NIOCore
import Synchronization

/// The replies to one `callMore`, in order.
///
/// At most `ClientLimits.waitingRepliesMax`, and about `waitingBytesMax`, are queued; then reading
/// from the socket stops. To stop before the end, leave the loop or cancel its task: that closes
/// the connection, because varlink has no other way. An error reply is thrown as `VarlinkError`, a
/// lost connection as `TransportError`.
public struct Replies: AsyncSequence, Sendable {
    /// The parameters of a reply.
    public typealias Element = JSONObject

    typealias Strategy = NIOAsyncSequenceProducerBackPressureStrategies.HighLowWatermark
    typealias Producer = NIOThrowingAsyncSequenceProducer<
        ReplyMessage, any Error, Strategy, ReadingControl
    >

    /// Stops and resumes reading from the connection as the reader needs it.
    ///
    /// It counts itself: the producer knows the number of replies but not their sizes.
    final class ReadingControl: NIOAsyncSequenceProducerDelegate {
        private struct Waiting {
            var count = 0
            var bytes = 0
            var isStopped = false
        }

        private let connection: ClientConnection
        private let limits: ClientLimits
        private let hasEnded = Atomic(false)
        private let waiting = Mutex(Waiting())

        init(_ connection: ClientConnection, limits: ClientLimits) {
            self.connection = connection
            self.limits = limits
        }

        /// A reply is queued.
        func queued(_ reply: ReplyMessage) {
            let stops = waiting.withLock { waiting in
                waiting.count += 1
                waiting.bytes += reply.byteCount
                guard !waiting.isStopped, isOver(waiting, share: 1) else { return false }
                waiting.isStopped = true
                return true
            }
            if stops { connection.setReading(stopped: true) }
        }

        /// The reader took a reply.
        func taken(_ reply: ReplyMessage) {
            let resumes = waiting.withLock { waiting in
                waiting.count -= 1
                waiting.bytes -= reply.byteCount
                guard waiting.isStopped, !isOver(waiting, share: 2) else { return false }
                waiting.isStopped = false
                return true
            }
            if resumes { connection.setReading(stopped: false) }
        }

        private func isOver(_ waiting: Waiting, share: Int) -> Bool {
            waiting.count * share >= limits.waitingRepliesMax
                || waiting.bytes * share >= limits.waitingBytesMax
        }

        /// The last reply or an error came: the connection is free for other calls.
        func end() {
            hasEnded.store(true, ordering: .releasing)
        }

        // The producer never stops by itself.
        func produceMore() {}

        func didTerminate() {
            if hasEnded.load(ordering: .acquiring) {
                connection.setReading(stopped: false)
            } else {
                connection.close(
                    TransportError(.closed, "the reader stopped before the last reply"))
            }
        }
    }

    /// Iterates over the replies.
    public struct AsyncIterator: AsyncIteratorProtocol {
        var iterator: Producer.AsyncIterator
        let control: ReadingControl
        // Keeps the connection open.
        let client: VarlinkClient

        /// The next reply, or nil after the last.
        ///
        /// - Throws: `VarlinkError` for an error reply, `TransportError` for a lost connection.
        public mutating func next() async throws -> JSONObject? {
            guard let reply = try await iterator.next() else { return nil }
            control.taken(reply)
            return reply.parameters
        }
    }

    private let sequence: Producer
    private let control: ReadingControl
    private let client: VarlinkClient

    /// Sends the call.
    init(
        to message: ByteBuffer, over connection: ClientConnection, of client: VarlinkClient,
        limits: ClientLimits
    ) {
        self.client = client
        let strategy = Strategy(lowWatermark: 0, highWatermark: .max)
        let control = ReadingControl(connection, limits: limits)
        self.control = control
        let new = Producer.makeSequence(
            backPressureStrategy: strategy, finishOnDeinit: true, delegate: control)
        sequence = new.sequence
        let source = new.source
        connection.send(message, more: true) { result in
            switch result {
            case .success(let reply):
                control.queued(reply)
                _ = source.yield(reply)
                guard !reply.continues else { return }
                control.end()
                source.finish()
            case .failure(let error):
                control.end()
                source.finish(error)
            }
        }
    }

    /// The iterator. Only one can be made.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(
            iterator: sequence.makeAsyncIterator(), control: control, client: client)
    }
}
