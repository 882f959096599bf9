import Glibc
import NIOCore
import NIOPosix
import Synchronization

/// A varlink service on Unix sockets: made at a path, or inherited from a service manager.
///
/// ```swift
/// let server = try VarlinkServer(info: info, interfaces: [ping])
/// try await server.listen(at: VarlinkAddress("/run/example/socket"), mode: 0o660)
/// defer { Task { await server.stop() } }
/// ```
///
/// Calls of one connection are answered in their order; those of different connections run at the
/// same time. Handlers get the calling process as `IncomingCall.peer`.
///
/// Every connection belongs to one loop of the group. Use a group of one loop where a broadcast
/// must be quick: it costs one thread switch per loop.
public final class VarlinkServer: Sendable {
    /// Turns an error that is not a `VarlinkError` into the one that is sent.
    public typealias ErrorMapper = @Sendable (any Error, IncomingCall) -> VarlinkError

    /// Connections that the kernel queues until they are accepted.
    private static let backlog: CInt = 1024

    /// How often a server that stops looks for connections that came late.
    private static let finishInterval = Duration.milliseconds(5)

    private struct State {
        var listeners: [(channel: any Channel, socket: ListeningSocket?)] = []
        var isStopped = false
    }

    private let group: any EventLoopGroup
    private let limits: ServerLimits
    private let registry: ConnectionRegistry
    private let service: ServerConnection.Service
    private let state = Mutex(State())

    /// Makes a server that does not listen yet.
    ///
    /// - Throws: `TransportError` (`invalidInterface`) when a method has no handler, a handler no
    ///   method, or two interfaces have the same name.
    public init(
        info: ServiceInfo, interfaces: [ServedInterface], limits: ServerLimits = ServerLimits(),
        group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton,
        mapError: @escaping ErrorMapper = VarlinkServer.internalError,
        onEvent: @escaping @Sendable (ServerEvent) -> Void = { _ in }
    ) throws {
        let registry = ConnectionRegistry(limits: limits)
        self.registry = registry
        self.group = group
        self.limits = limits
        service = ServerConnection.Service(
            methods: try MethodTable(info: info, interfaces: interfaces), limits: limits,
            mapError: mapError, onEvent: onEvent,
            onHeld: { registry.note($0, ofUser: $1) }, onClose: { registry.remove($0) })
    }

    /// The connections that are open.
    public var connectionCount: Int { registry.count }

    /// Makes a socket at `address` and listens. Its file gets `mode`, whatever the umask.
    ///
    /// A socket file that a dead server left is replaced.
    ///
    /// - Throws: `TransportError`: `addressInUse` when a process listens there,
    ///   `cannotListen` when the file cannot be created.
    public func listen(at address: VarlinkAddress, mode: UInt32 = 0o600) async throws {
        let socket = try ListeningSocket(at: address, mode: mode_t(mode))
        do {
            try await listen(on: socket.descriptor, of: socket)
        } catch {
            socket.unlinkFile()
            throw error
        }
    }

    /// Listens on a Unix socket that was inherited (socket activation). The server owns the
    /// descriptor from now on; the socket's file is not removed.
    ///
    /// - Throws: `TransportError` (`cannotListen`).
    public func listen(onInherited descriptor: Int32) async throws {
        try await listen(on: descriptor, of: nil)
    }

    /// Serves a client whose connected socket another process has accepted. The server owns the
    /// descriptor from now on.
    ///
    /// - Parameter peer: the client, as the process that accepted it knows it.
    /// One that cannot be served is closed. Does not block.
    package func adopt(_ descriptor: CInt, from peer: PeerIdentity) {
        _ = ClientBootstrap(group: group)
            .channelOption(.allowRemoteHalfClosure, value: true)
            .channelOption(.writeBufferWaterMark, value: watermark)
            .channelInitializer { [registry, service] channel in
                channel.eventLoop.makeCompletedFuture {
                    try Self.serve(peer, over: channel, in: registry, for: service)
                }
            }
            .withConnectedSocket(descriptor)
    }

    /// Stops listening, removes the sockets' files that this server made, and closes every
    /// connection. Running handlers are cancelled. May be called more than once.
    ///
    /// - Parameter time: how long calls are still answered: those that are under way, and the first
    ///   of a client that was accepted and has not called yet, which cannot know that it came late.
    ///   Clients that connect to an inherited socket meanwhile are left to the next server.
    ///   Streams, and connections that have been answered, are closed at once.
    public func stop(answeringFor time: Duration = .zero) async {
        let listeners = state.withLock { state in
            defer { state.listeners = [] }
            state.isStopped = true
            return state.listeners
        }
        for listener in listeners {
            listener.socket?.unlinkFile()
            // Closed now, the channel would close what it has accepted in this instant, too.
            // On a socket of our own, what waits has no other server to wait for.
            guard time > .zero, listener.socket == nil else { continue }
            try? await listener.channel.setOption(.autoRead, value: false).get()
        }
        if time > .zero { await answer(for: time) }
        for listener in listeners { try? await listener.channel.close() }
        for connection in registry.stop() {
            try? await connection.channel.close()
        }
    }

    /// Lets connections end by themselves, each when it has answered.
    private func answer(for time: Duration) async {
        let end = ContinuousClock.now + time
        // What a listener has accepted is on its way to the loop of its connection.
        for loop in group.makeIterator() { try? await loop.submit {}.get() }
        while registry.count > 0, ContinuousClock.now < end {
            for connection in registry.open { connection.finish() }
            try? await Task.sleep(for: Self.finishInterval)
        }
    }

    /// The default mapper: `InternalError` of the called interface, with the error's text.
    public static let internalError: ErrorMapper = { error, call in
        let interface = call.method.lastIndex(of: ".").map { call.method[..<$0] } ?? ""
        return VarlinkError(
            "\(interface).InternalError", parameters: ["reason": .string("\(error)")])
    }

    private func listen(on descriptor: CInt, of socket: ListeningSocket?) async throws {
        let channel: any Channel
        do {
            channel = try await bootstrap().withBoundSocket(descriptor).get()
        } catch {
            throw TransportError(.cannotListen, "cannot listen: \(error)")
        }
        let isStopped = state.withLock { state in
            if !state.isStopped { state.listeners.append((channel, socket)) }
            return state.isStopped
        }
        if isStopped {
            try? await channel.close()
            throw TransportError(.closed, "the server was stopped")
        }
    }

    /// At the lower mark a lagging client counts as drained.
    private var watermark: ChannelOptions.Types.WriteBufferWaterMark {
        .init(low: limits.queuedBytesMax / 2, high: limits.queuedBytesMax)
    }

    private func bootstrap() -> ServerBootstrap {
        ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: Self.backlog)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelOption(.writeBufferWaterMark, value: watermark)
            .childChannelInitializer { [registry, service] channel in
                channel.eventLoop.makeCompletedFuture {
                    try Self.accept(channel, in: registry, for: service)
                }
            }
    }

    /// Accepts a connection. An error closes its channel, and no other.
    private static func accept(
        _ channel: any Channel, in registry: ConnectionRegistry,
        for service: ServerConnection.Service
    ) throws {
        let pipeline = channel.pipeline.syncOperations
        let peer = try pipeline.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self) {
            PeerIdentity(socket: $0)
        }
        guard let peer = peer ?? nil else {
            throw TransportError(.closed, "the kernel does not identify the connecting process")
        }
        try serve(peer, over: channel, in: registry, for: service)
    }

    private static func serve(
        _ peer: PeerIdentity, over channel: any Channel, in registry: ConnectionRegistry,
        for service: ServerConnection.Service
    ) throws {
        let connection = ServerConnection(channel: channel, peer: peer, service: service)
        if let reason = registry.admit(connection) {
            service.onEvent(.connectionRefused(peer, reason: reason))
            throw TransportError(.closed, reason)
        }
        do {
            try channel.pipeline.syncOperations.addHandler(connection)
        } catch {
            registry.remove(connection)
            throw error
        }
    }
}
