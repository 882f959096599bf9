import SyncTesting
import Synchronization
import Varlink

/// A server whose only method streams, for tests that send replies themselves.
final class StreamServer: Sendable {
    /// A connected client: its stream in the server, and the replies that it got.
    final class Client: Sendable {
        let stream: ReplyStream
        private let connection: VarlinkClient
        private let received: Received

        fileprivate init(stream: ReplyStream, connection: VarlinkClient, received: Received) {
            self.stream = stream
            self.connection = connection
            self.received = received
        }

        var replies: [JSONObject] { received.all.withLock { $0 } }

        /// The tokens of the replies.
        var tokens: [String] { replies.compactMap { $0["token"]?.string } }
    }

    fileprivate final class Received: Sendable { let all = Mutex<[JSONObject]>([]) }

    private final class Streams: Sendable { let all = Mutex<[ReplyStream]>([]) }

    private static let definition = """
        interface org.example.streams
        method Watch() -> (token: ?string)
        """

    private let directory: TemporaryFolder
    private let server: VarlinkServer
    private let streams = Streams()

    init() async throws {
        directory = try TemporaryFolder()
        var interface = try ServedInterface(Self.definition)
        interface.onStream("Watch") { [streams] _, stream in
            streams.all.withLock { $0.append(stream) }
        }
        server = try VarlinkServer(
            info: ServiceInfo(vendor: "v", product: "p", version: "1", url: "u"),
            interfaces: [interface])
        try await server.listen(at: VarlinkAddress(directory.file("socket")))
    }

    /// One client at a time: the stream that appears is its.
    func connect() async throws -> Client {
        let address = try VarlinkAddress(directory.file("socket"))
        let connection = try await VarlinkClient.connect(to: address)
        let received = Received()
        let count = streams.all.withLock { $0.count }
        connection.callMore("org.example.streams.Watch") { result in
            guard case .success(let reply) = result else { return }
            received.all.withLock { $0.append(reply.parameters) }
        }
        try await eventually("the stream opens") { self.streams.all.withLock { $0.count } > count }
        let stream = streams.all.withLock { $0[count] }
        return Client(stream: stream, connection: connection, received: received)
    }
}
