import NIOCore
import Synchronization

/// The replies to one `callMore`, in order.
///
/// At most `ClientLimits.waitingRepliesMax` are queued; then reading from the socket stops. To stop
/// before the end, leave the loop or cancel its task: that closes the connection, because varlink
/// has no other way. An error reply is thrown as `VarlinkError`, a lost connection as
/// `TransportError`.
public struct Replies: AsyncSequence, Sendable {
    /// The parameters of a reply.
    public typealias Element = JSONObject

    typealias Strategy = NIOAsyncSequenceProducerBackPressureStrategies.HighLowWatermark
    typealias Producer = NIOThrowingAsyncSequenceProducer<
        JSONObject, any Error, Strategy, ReadingControl
    >

    /// Stops and resumes reading from the connection as the reader needs it.
    final class ReadingControl: NIOAsyncSequenceProducerDelegate {
        private let connection: ClientConnection
        private let hasEnded = Atomic(false)

        init(_ connection: ClientConnection) {
            self.connection = connection
        }

        /// The last reply or an error came: the connection is free for other calls.
        func end() {
            hasEnded.store(true, ordering: .releasing)
        }

        func produceMore() {
            connection.setReading(stopped: false)
        }

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
        // Keeps the connection open.
        let client: VarlinkClient

        /// The next reply, or nil after the last.
        ///
        /// - Throws: `VarlinkError` for an error reply, `TransportError` for a lost connection.
        public mutating func next() async throws -> JSONObject? {
            try await iterator.next()
        }
    }

    private let sequence: Producer
    private let client: VarlinkClient

    /// Sends the call.
    init(
        to message: ByteBuffer, over connection: ClientConnection, of client: VarlinkClient,
        limits: ClientLimits
    ) {
        self.client = client
        let strategy = Strategy(
            lowWatermark: limits.waitingRepliesMax / 2, highWatermark: limits.waitingRepliesMax)
        let control = ReadingControl(connection)
        let new = Producer.makeSequence(
            backPressureStrategy: strategy, finishOnDeinit: true, delegate: control)
        sequence = new.sequence
        let source = new.source
        connection.send(message, more: true) { result in
            switch result {
            case .success(let reply):
                if case .stopProducing = source.yield(reply.parameters) {
                    connection.setReading(stopped: true)
                }
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
        AsyncIterator(iterator: sequence.makeAsyncIterator(), client: client)
    }
}
