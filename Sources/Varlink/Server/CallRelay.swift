import NIOCore
import NIOPosix

/// Passes one call on to another process of this service, and its replies back, unread.
///
/// The other process is slowed down as the client is: while the client's queue is full, nothing is
/// read from the socket of the other process, whose own queue for this client fills.
///
/// It has a loop of its own, not that of the client's connection, which parses what all clients
/// send: a notice goes from there to the client's socket at once (``ReplyStream``).
///
/// Invariants: all state is used on that loop. A reply in `refused` was not
/// accepted by the stream, and while there is one, none is read after it.
///
/// `@unchecked Sendable`: the event loop guards the state.
package final class CallRelay: ChannelDuplexHandler, @unchecked Sendable {
    package typealias InboundIn = ByteBuffer
    package typealias OutboundIn = ByteBuffer
    package typealias OutboundOut = ByteBuffer

    private let stream: ReplyStream
    private let lost: VarlinkError
    private var framer: MessageFramer
    private var context: ChannelHandlerContext?
    private var refused: EncodedReply?
    private var isReadWanted = false
    private var hasEnded = false

    private init(_ stream: ReplyStream, lost: VarlinkError, limits: ClientLimits) {
        self.stream = stream
        self.lost = lost
        framer = MessageFramer(messageBytesMax: limits.messageBytesMax)
    }

    /// Starts. Does not block.
    ///
    /// - Parameters:
    ///   - loop: for the relay.
    ///   - descriptor: a connected socket, from now on the relay's. The other process serves the
    ///     caller there.
    ///   - lost: what the caller is answered when the other process ends before it has answered.
    package static func start(
        _ call: IncomingCall, to stream: ReplyStream, on loop: any EventLoop,
        over descriptor: CInt, lost: VarlinkError
    ) {
        let message = CallMessage(
            method: call.method, parameters: call.parameters, oneway: call.oneway, more: call.more)
        let bytes = ByteBuffer(bytes: message.encoded())
        let relay = CallRelay(stream, lost: lost, limits: ClientLimits())
        ClientBootstrap(group: loop)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(relay)
                }
            }
            .withConnectedSocket(descriptor)
            .whenComplete { result in
                switch result {
                case .success(let channel): relay.begin(with: bytes, over: channel, call: call)
                case .failure: stream.fail(lost)
                }
            }
    }

    private func begin(with bytes: ByteBuffer, over channel: any Channel, call: IncomingCall) {
        stream.onClose { channel.close(promise: nil) }
        stream.onDrained { [self] in channel.eventLoop.execute { self.resume() } }
        context?.writeAndFlush(wrapOutboundOut(bytes), promise: nil)
        // The other process runs what it has received completely, also without a caller.
        if call.oneway { end { stream.finish() } }
    }

    package func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    package func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        framer.append(unwrapInboundIn(data).readableBytesView)
        pass()
    }

    package func read(context: ChannelHandlerContext) {
        if refused == nil { context.read() } else { isReadWanted = true }
    }

    package func channelInactive(context: ChannelHandlerContext) { end { stream.fail(lost) } }

    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        end { stream.fail(lost) }
    }

    /// Gives the client what has arrived, as far as its queue takes it.
    private func pass() {
        while !hasEnded, refused == nil {
            let next: EncodedReply?
            do {
                next = try framer.next { message in
                    var buffer = ByteBufferAllocator().buffer(capacity: message.count + 1)
                    buffer.writeBytes(message)
                    buffer.writeInteger(UInt8(0))
                    return EncodedReply(relaying: buffer)
                }
            } catch {
                return end { stream.fail(lost) }
            }
            guard let next else { return }
            send(next)
        }
    }

    private func send(_ reply: EncodedReply) {
        // The last reply lets the connection take its next call, within this call.
        if !reply.continues { return end { stream.send(reply) } }
        switch stream.send(reply) {
        case .accepted: break
        case .overBound: refused = reply
        case .closed: end {}
        }
    }

    /// The client has read half of its queue.
    private func resume() {
        guard !hasEnded, let reply = refused else { return }
        refused = nil
        send(reply)
        pass()
        guard refused == nil, isReadWanted, let context else { return }
        isReadWanted = false
        context.read()
    }

    private func end(_ last: () -> Void) {
        guard !hasEnded else { return }
        hasEnded = true
        context?.close(promise: nil)
        last()
    }
}
