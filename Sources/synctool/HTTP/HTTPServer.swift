import NIOCore
import NIOHTTP1
import NIOPosix
import SyncCore
import Synchronization

/// A small HTTP server on the loopback device: for one person's browser, not for a network.
///
/// Immutable. Each connection is served by a child task of ``run(answering:)``; requests of a
/// connection are answered one after the other.
struct HTTPServer: Sendable {
    /// Connections at a time: a browser opens six. More are closed at once.
    static let connectionsMax = 64
    /// Bytes of a request's body: calls of the page have some hundred.
    static let bodyBytesMax = 64 * 1024
    /// A connection that neither sends nor receives for this long is closed. Streams send a sign of
    /// life more often.
    static let idleMax: TimeAmount = .seconds(60)

    private typealias Connection = NIOAsyncChannel<HTTPServerRequestPart, ResponsePart>
    private typealias ResponsePart = HTTPServerResponsePart

    /// What every reply says beside its own headers.
    let headers: HTTPHeaders
    /// The port that was bound.
    let port: Int
    private let channel: NIOAsyncChannel<Connection, Never>

    /// Listens on 127.0.0.1.
    ///
    /// - Parameter port: 0: one that is free.
    /// - Throws: ``SyncError`` with code `invalidArgument` when the port cannot be had.
    init(port: Int, headers: HTTPHeaders) async throws {
        self.headers = headers
        do {
            channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
                .bind(host: "127.0.0.1", port: port) { channel in
                    channel.eventLoop.makeCompletedFuture { try Self.connection(on: channel) }
                }
        } catch let error as IOError {
            throw SyncError(
                .invalidArgument, "port \(port) of 127.0.0.1 cannot be used (\(error))",
                hint: "Choose another one: synctool ui --port 0 takes one that is free")
        }
        self.port = channel.channel.localAddress?.port ?? port
    }

    private static func connection(on channel: any Channel) throws -> Connection {
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandler(IdleStateHandler(allTimeout: idleMax))
        try pipeline.addHandler(IdleCloser())
        try pipeline.configureHTTPServerPipeline(
            withPipeliningAssistance: true, withErrorHandling: true)
        return try Connection(wrappingChannelSynchronously: channel)
    }

    /// Serves until the task is cancelled.
    ///
    /// - Throws: `CancellationError`, and errors of the listening socket.
    func run(answering answer: @escaping @Sendable (HTTPRequest) async -> HTTPReply) async throws {
        let open = OpenConnections()
        try await channel.executeThenClose { connections in
            try await withThrowingDiscardingTaskGroup { group in
                for try await connection in connections {
                    guard open.count.load(ordering: .relaxed) < Self.connectionsMax else {
                        // Not by its channel: a connection that is dropped unread is a fault.
                        group.addTask { try? await connection.executeThenClose { _, _ in } }
                        continue
                    }
                    open.count.add(1, ordering: .relaxed)
                    group.addTask {
                        // What goes wrong with one connection is its client's affair.
                        try? await serve(connection, answering: answer)
                        open.count.subtract(1, ordering: .relaxed)
                    }
                }
            }
        }
    }

    private func serve(
        _ connection: Connection, answering answer: @Sendable (HTTPRequest) async -> HTTPReply
    ) async throws {
        try await connection.executeThenClose { inbound, outbound in
            var head: HTTPRequestHead?
            var body: [UInt8] = []
            for try await part in inbound {
                switch part {
                case .head(let next): (head, body) = (next, [])
                case .body(let bytes):
                    guard body.count + bytes.readableBytes <= Self.bodyBytesMax else { return }
                    body += bytes.readableBytesView
                case .end:
                    guard let whole = head else { return }
                    let request = HTTPRequest(
                        method: whole.method, target: whole.uri, headers: whole.headers, body: body)
                    let reply = await answer(request)
                    try await send(reply, to: whole, on: connection.channel, by: outbound)
                    guard whole.isKeepAlive, case .bytes = reply.body else { return }
                }
            }
        }
    }

    private func send(
        _ reply: HTTPReply, to request: HTTPRequestHead, on channel: any Channel,
        by outbound: NIOAsyncChannelOutboundWriter<ResponsePart>
    ) async throws {
        var head = HTTPResponseHead(
            version: request.version, status: reply.status, headers: headers)
        head.headers.add(name: "Content-Type", value: reply.type)
        switch reply.body {
        case .bytes(let bytes):
            head.headers.add(name: "Content-Length", value: String(bytes.count))
            let body: [ResponsePart] =
                request.method == .HEAD ? [] : [.body(.byteBuffer(ByteBuffer(bytes: bytes)))]
            try await outbound.write(contentsOf: [.head(head)] + body + [.end(nil)])
        case .stream(let stream):
            head.headers.add(name: "Connection", value: "close")
            try await outbound.write(.head(head))
            try await withThrowingTaskGroup { group in
                group.addTask {
                    try await channel.closeFuture.get()
                    throw CancellationError()
                }
                group.addTask {
                    // The other task ends when the channel is closed, in every case.
                    defer { channel.close(promise: nil) }
                    try await stream {
                        try await outbound.write(.body(.byteBuffer(ByteBuffer(bytes: $0))))
                    }
                }
                defer { group.cancelAll() }
                try await group.next()
            }
        }
    }
}

/// How many connections are served at present.
private final class OpenConnections: Sendable {
    let count = Atomic<Int>(0)
}

/// Closes a connection on which nothing happens.
private final class IdleCloser: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is IdleStateHandler.IdleStateEvent {
            context.close(promise: nil)
        } else {
            context.fireUserInboundEventTriggered(event)
        }
    }
}
