import NIOCore
import Synchronization

/// The replies to one `callMore`, one after the other.
///
/// At most `ClientLimits.waitingRepliesMax` wait here; then the socket is read no further. To stop
/// before the end, leave the loop or cancel its task: that closes the connection, since varlink
/// knows no other way. An error reply is thrown as `VarlinkError`, a lost connection as
/// `TransportError`.
public struct Replies: AsyncSequence, Sendable {
    /// The parameters of a reply.
    public typealias Element = JSONObject

    typealias Strategy = NIOAsyncSequenceProducerBackPressureStrategies.HighLowWatermark
    typealias Producer = NIOThrowingAsyncSequenceProducer<
        JSONObject, any Error, Strategy, ReadingControl
    >

    /// Carries the reader's wishes to the connection.
    final class ReadingControl: NIOAsyncSequenceProducerDelegate {
        private let connection: ClientConnection
        private let hasEnded = Atomic(false)

        init(_ connection: ClientConnection) {
            self.connection = connection
        }

        /// The last reply came, or an error: the connection is free for other calls.
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
                connection.close(TransportError(.closed, "the replies are not wanted any more"))
            }
        }
    }

    /// Walks through the replies.
    public struct AsyncIterator: AsyncIteratorProtocol {
        var iterator: Producer.AsyncIterator
        // Letting the client go would close the connection.
        let client: VarlinkClient

        /// The next reply, or nil after the last.
        public mutating func next() async throws -> JSONObject? {
            try await iterator.next()
        }
    }

    private let sequence: Producer
    private let client: VarlinkClient

    /// Sends the call.
    init(
        _ client: VarlinkClient, _ connection: ClientConnection, _ message: ByteBuffer,
        _ limits: ClientLimits
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

    /// Starts to walk. Only one iterator can be made.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(iterator: sequence.makeAsyncIterator(), client: client)
    }
}
