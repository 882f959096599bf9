import NIOCore

/// A client's end of a connection: writes calls and gives each reply to its call.
///
/// Invariants: all state is used on the channel's event loop only. `pending` holds one entry for
/// each call that was written and whose last reply is due. Once `failure` is set, `pending` stays
/// empty.
///
/// `@unchecked Sendable`: the event loop guards the state; the entry points check it.
final class ClientConnection: ChannelDuplexHandler, @unchecked Sendable {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = Never
    typealias OutboundOut = ByteBuffer

    let channel: any Channel
    private var context: ChannelHandlerContext?
    private var framer: MessageFramer
    private var pending = PendingCalls()
    private var failure: TransportError?
    private var closeCallbacks: [@Sendable (TransportError) -> Void] = []
    private var isReadWanted = false
    private var isReadingStopped = false

    init(channel: any Channel, limits: ClientLimits) {
        self.channel = channel
        framer = MessageFramer(messageBytesMax: limits.messageBytesMax)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard failure == nil else { return }
        framer.append(unwrapInboundIn(data).readableBytesView)
        do {
            while let reply = try framer.next({ try ReplyMessage(parsing: $0) }) {
                try deliver(reply)
                if failure != nil { return }
            }
        } catch is MessageFramer.TooLarge {
            let reason = "a reply of more than \(framer.messageBytesMax) bytes"
            fail(TransportError(.messageTooLarge, reason))
        } catch let error as TransportError {
            fail(error)
        } catch {
            fail(TransportError(.malformedMessage, "not a varlink reply: \(error)"))
        }
    }

    func read(context: ChannelHandlerContext) {
        if isReadingStopped {
            isReadWanted = true
        } else {
            context.read()
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        fail(TransportError(.connectionLost, "the service closed the connection"))
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        fail(TransportError(.connectionLost, "the connection broke: \(error)"))
    }
}

extension ClientConnection {
    /// Writes a call, and gives its replies to `callback` on the event loop: one, or with `more`
    /// as many as there are, and in the end at most one error.
    func send(_ message: ByteBuffer, more: Bool, callback: PendingCalls.Callback?) {
        onLoop { connection in
            if let failure = connection.failure {
                callback?(.failure(failure))
                return
            }
            if let callback {
                connection.pending.append(.init(callback: callback, more: more))
            }
            connection.context?.writeAndFlush(
                connection.wrapOutboundOut(message), promise: nil)
        }
    }

    /// Ends the connection; calls that are due get `error`.
    func close(_ error: TransportError) {
        onLoop { $0.fail(error) }
    }

    /// Stops or resumes reading from the socket.
    func setReading(stopped: Bool) {
        onLoop { connection in
            connection.isReadingStopped = stopped
            if !stopped, connection.isReadWanted {
                connection.isReadWanted = false
                connection.context?.read()
            }
        }
    }

    /// Calls `body` on the event loop when the connection has ended, or at once when it has.
    func onClose(_ body: @escaping @Sendable (TransportError) -> Void) {
        onLoop { connection in
            if let failure = connection.failure {
                body(failure)
            } else {
                connection.closeCallbacks.append(body)
            }
        }
    }

    private func onLoop(_ body: @escaping @Sendable (ClientConnection) -> Void) {
        if channel.eventLoop.inEventLoop {
            body(self)
        } else {
            channel.eventLoop.execute { body(self) }
        }
    }

    private func deliver(_ reply: ReplyMessage) throws {
        guard let call = pending.first else {
            throw TransportError(.malformedMessage, "a reply without a call")
        }
        if reply.continues, reply.error == nil {
            guard call.more else {
                throw TransportError(
                    .malformedMessage, "several replies to a call that expects one")
            }
        } else {
            pending.removeFirst()
        }
        if let error = reply.error {
            call.callback(.failure(VarlinkError(error, parameters: reply.parameters)))
        } else {
            call.callback(.success(reply))
        }
    }

    private func fail(_ error: TransportError) {
        guard failure == nil else { return }
        failure = error
        for call in pending.removeAll() { call.callback(.failure(error)) }
        let callbacks = closeCallbacks
        closeCallbacks = []
        for callback in callbacks { callback(error) }
        context?.close(promise: nil)
    }
}
