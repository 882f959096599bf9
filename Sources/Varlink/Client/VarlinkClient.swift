import Glibc
import NIOCore
import NIOPosix

/// A connection to a varlink service.
///
/// ```swift
/// let client = try await VarlinkClient.connect(to: VarlinkAddress("unix:/run/example/socket"))
/// let reply = try await client.call("org.example.ping.Ping", with: ["text": "hello"])
/// for try await event in client.callMore("org.example.ping.Watch") { print(event) }
/// ```
///
/// Calls may be made from many tasks at once; the service answers them in order, one after the
/// other. A `callMore` keeps the connection until its last reply: give each subscription its own.
/// Keep the client: its deinitialisation closes the connection.
public final class VarlinkClient: Sendable {
    private let connection: ClientConnection
    private let limits: ClientLimits

    private init(_ connection: ClientConnection, limits: ClientLimits) {
        self.connection = connection
        self.limits = limits
    }

    deinit {
        connection.close(TransportError(.closed, "the client was released"))
    }

    /// Connects. Many connections may share a group.
    ///
    /// - Throws: `TransportError` (`cannotConnect`), `CancellationError`.
    public static func connect(
        to address: VarlinkAddress, limits: ClientLimits = ClientLimits(),
        group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton
    ) async throws -> VarlinkClient {
        let descriptor = try await connectedSocket(to: address, limits: limits)
        do {
            return try await adopt(descriptor, limits: limits, group: group)
        } catch {
            throw TransportError(.cannotConnect, "\(error)", path: address.path)
        }
    }

    /// Two connected sockets: for a client of this process, and for a service in another one.
    ///
    /// - Throws: `TransportError` (`cannotConnect`) when the process has no descriptor left.
    package static func socketPair() throws -> (own: CInt, other: CInt) {
        try UnixSocket.pair(CInt(SOCK_STREAM.rawValue))
    }

    /// A client over a connected socket, which it owns from now on.
    ///
    /// - Throws: the error of the event loop.
    package static func adopt(
        _ descriptor: CInt, limits: ClientLimits = ClientLimits(), group: any EventLoopGroup
    ) async throws -> VarlinkClient {
        let handler = ClientBootstrap(group: group)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        ClientConnection(channel: channel, limits: limits))
                }
            }
            .withConnectedSocket(descriptor)
            .flatMapThrowing { channel in
                try channel.pipeline.syncOperations.handler(type: ClientConnection.self)
            }
        return VarlinkClient(try await handler.get(), limits: limits)
    }

    /// Calls a method and returns the parameters of its reply.
    ///
    /// Cancelling the task closes the connection: a call cannot be withdrawn.
    ///
    /// - Parameter timeout: How long to wait for the reply; then the connection is closed.
    /// - Throws: `VarlinkError` for an error reply, `TransportError`, `CancellationError`.
    public func call(
        _ method: String, with parameters: JSONObject = [:], timeout: Duration? = nil
    ) async throws -> JSONObject {
        try Task.checkCancellation()
        let result: Result<ReplyMessage, any Error> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                call(method, with: parameters, timeout: timeout) {
                    continuation.resume(returning: $0)
                }
            }
        } onCancel: {
            close()
        }
        if case .failure(let error as TransportError) = result, error.code == .closed {
            try Task.checkCancellation()
        }
        return try result.get().parameters
    }

    /// Calls a method; `onReply` gets the result on the event loop: quicker than `await` by a
    /// thread switch. It must not block.
    public func call(
        _ method: String, with parameters: JSONObject = [:], timeout: Duration? = nil,
        onReply: @escaping @Sendable (Result<ReplyMessage, any Error>) -> Void
    ) {
        let message = CallMessage(method: method, parameters: parameters)
        guard let timeout else {
            connection.send(message.buffer, more: false, callback: onReply)
            return
        }
        let connection = connection
        let timer = connection.channel.eventLoop.scheduleTask(in: .init(timeout)) {
            let reason = "no reply to \(method) within \(timeout)"
            connection.close(TransportError(.timedOut, reason))
        }
        connection.send(message.buffer, more: false) { result in
            timer.cancel()
            onReply(result)
        }
    }

    /// Calls a method that answers many times. The call is sent at once.
    public func callMore(_ method: String, with parameters: JSONObject = [:]) -> Replies {
        let message = CallMessage(method: method, parameters: parameters, more: true)
        return Replies(to: message.buffer, over: connection, of: self, limits: limits)
    }

    /// Calls a method that answers many times; `onReply` gets each reply on the event loop, the
    /// last with `continues` false, or one error. It must not block. Nothing slows the
    /// service down: `onReply` drops what it cannot handle, or closes the connection.
    public func callMore(
        _ method: String, with parameters: JSONObject = [:],
        onReply: @escaping @Sendable (Result<ReplyMessage, any Error>) -> Void
    ) {
        let message = CallMessage(method: method, parameters: parameters, more: true)
        connection.send(message.buffer, more: true, callback: onReply)
    }

    /// Calls a method without a reply. Errors are not reported.
    public func oneway(_ method: String, with parameters: JSONObject = [:]) {
        let message = CallMessage(method: method, parameters: parameters, oneway: true)
        connection.send(message.buffer, more: false, callback: nil)
    }

    /// Calls `body` on the event loop when the connection has ended, with the reason; at once when
    /// it has ended already.
    public func onClose(_ body: @escaping @Sendable (TransportError) -> Void) {
        connection.onClose(body)
    }

    /// Closes the connection. Calls that are due fail with `closed`.
    public func close() {
        connection.close(TransportError(.closed, "the client closed the connection"))
    }

    private static func connectedSocket(
        to address: VarlinkAddress, limits: ClientLimits
    ) async throws -> CInt {
        let descriptor = try UnixSocket.make()
        let deadline = ContinuousClock.now + limits.connectTimeout
        do {
            while true {
                let error = UnixSocket.connect(descriptor, to: address)
                if error == 0 { return descriptor }
                guard error == EAGAIN, ContinuousClock.now < deadline else {
                    throw failure(error, at: address)
                }
                try await Task.sleep(for: .milliseconds(5))
            }
        } catch {
            Glibc.close(descriptor)
            throw error
        }
    }

    private static func failure(
        _ error: CInt, at address: VarlinkAddress
    ) -> TransportError {
        let reason =
            switch error {
            case ENOENT: "no such socket"
            case ECONNREFUSED: "no process listens on this socket"
            case EAGAIN: "too many connections wait to be accepted"
            case EACCES: "permission to connect is denied"
            default: "cannot connect: \(UnixSocket.message(error))"
            }
        return TransportError(
            error == EACCES ? .notPermitted : .cannotConnect, reason, path: address.path)
    }
}

extension CallMessage {
    fileprivate var buffer: ByteBuffer { ByteBuffer(bytes: encoded()) }
}
