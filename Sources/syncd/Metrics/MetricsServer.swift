import Logging
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization
import Varlink

/// Serves `GET /metrics` over HTTP/1.1, on a Unix socket or a port of this machine.
///
/// Invariants, guarded by the mutex: at most ``connectionsMax`` connections at once, and of them at
/// most ``perUserMax`` of one user where users are known. Nothing is computed before it is asked
/// for.
final class MetricsServer: Sendable {
    /// More connections are closed at once: a monitoring system needs one.
    static let connectionsMax = 32
    /// So that one user cannot take all.
    static let perUserMax = 8

    private struct State {
        var channels: [any Channel] = []
        var sockets: [ListeningSocket] = []
        var connections = 0
        var byUser: [UInt32: Int] = [:]
    }

    private let group: any EventLoopGroup
    private let source: MetricsSource
    private let state = Mutex(State())

    init(_ source: MetricsSource, on group: any EventLoopGroup) {
        self.source = source
        self.group = group
    }

    /// Listens where the options say.
    ///
    /// - Parameter mode: of the socket, where the options have none.
    /// - Throws: ``StartFailure``.
    func listen(_ options: MetricsOptions, mode: UInt32) async throws {
        if let path = options.socket {
            do {
                let socket = try ListeningSocket(
                    at: VarlinkAddress(path), mode: options.socketMode ?? mode)
                state.withLock { $0.sockets.append(socket) }
                try await listen(onInherited: socket.descriptor)
            } catch let error as TransportError {
                throw StartFailure(error, at: path)
            }
        }
        if let address = options.listen {
            do {
                let channel = try await bootstrap(isUnix: false)
                    .bind(host: address.host, port: address.port).get()
                state.withLock { $0.channels.append(channel) }
            } catch {
                throw StartFailure(
                    exitStatus: 69,
                    "metrics: cannot listen on \(address.host) port \(address.port): \(error)")
            }
        }
    }

    /// Listens on a Unix socket that was passed in.
    ///
    /// - Throws: the system's error.
    func listen(onInherited descriptor: Int32) async throws {
        let channel = try await bootstrap(isUnix: true).withBoundSocket(descriptor).get()
        state.withLock { $0.channels.append(channel) }
    }

    /// Stops listening, and removes the socket's file.
    func stop() async {
        let (channels, sockets) = state.withLock { state in
            defer { state = State() }
            return (state.channels, state.sockets)
        }
        for socket in sockets { socket.unlinkFile() }
        for channel in channels { try? await channel.close() }
    }

    private func bootstrap(isUnix: Bool) -> ServerBootstrap {
        ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 16)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: isUnix ? 0 : 1)
            .childChannelInitializer { [self] channel in
                channel.eventLoop.makeCompletedFuture {
                    try accept(channel, isUnix: isUnix)
                }
            }
    }

    /// An error closes the connection, and no other.
    private func accept(_ channel: any Channel, isUnix: Bool) throws {
        let pipeline = channel.pipeline.syncOperations
        var peer: PeerIdentity?
        if isUnix {
            peer = try pipeline.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self) {
                PeerIdentity(socket: $0)
            }.flatMap(\.self)
        }
        guard peer != nil || !isUnix, admit(peer?.uid) else {
            throw TransportError(.closed, "too many connections")
        }
        let user = peer?.uid
        channel.closeFuture.whenComplete { [self] _ in leave(user) }
        try pipeline.configureHTTPServerPipeline(withErrorHandling: true)
        try pipeline.addHandler(MetricsConnection(source, peer: peer))
    }

    private func admit(_ user: UInt32?) -> Bool {
        state.withLock { state in
            guard state.connections < Self.connectionsMax else { return false }
            if let user {
                guard state.byUser[user, default: 0] < Self.perUserMax else { return false }
                state.byUser[user, default: 0] += 1
            }
            state.connections += 1
            return true
        }
    }

    private func leave(_ user: UInt32?) {
        state.withLock { state in
            state.connections = max(0, state.connections - 1)
            guard let user, let count = state.byUser[user] else { return }
            state.byUser[user] = count > 1 ? count - 1 : nil
        }
    }
}
