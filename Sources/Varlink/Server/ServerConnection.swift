import NIOCore
import Synchronization

/// One client of a server: reads calls, runs them one after the other, writes the replies.
///
/// Invariants: all state but `bufferedBytes` is used on the channel's event loop only. At most
/// one call is under way, so replies are sent in the order of the calls. While one is, or while the
/// client leaves replies unread, at most `pipelinedBytesMax` (and one read) of further calls are
/// read; then reading stops and the client's own socket fills.
///
/// `@unchecked Sendable`: the event loop guards the state; the entry points check it.
final class ServerConnection: ChannelDuplexHandler, @unchecked Sendable {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = Never
    typealias OutboundOut = ByteBuffer

    private enum State {
        case idle
        case calling(Task<Void, Never>?, oneway: Bool)
        case streaming(ReplyStream, Task<Void, Never>?)
    }

    let channel: any Channel
    let peer: PeerIdentity
    private let service: Service
    private var context: ChannelHandlerContext?
    private var framer: MessageFramer
    private var state = State.idle
    private var isProcessing = false
    private var isClosed = false
    private var inputEnded = false
    /// The server stops: the connection ends when it has answered.
    private var isFinishing = false
    /// Nothing but what was written before is done.
    private var isClosing = false
    private var isReadWanted = false
    private var partialMessage: (timeout: Scheduled<Void>, messagesBefore: Int)?
    private var messages = 0
    private let buffered = Atomic(0)
    /// What the registry was told that this connection holds.
    private var noted = 0
    /// The size of the call that is under way: its parameters are held until it ends.
    private var callBytes = 0
    /// The channel is gone; of what was noted, `callBytes` are left.
    private var isInactive = false

    /// What all connections of a server share.
    struct Service: Sendable {
        let methods: MethodTable
        let limits: ServerLimits
        let mapError: VarlinkServer.ErrorMapper
        let onEvent: @Sendable (ServerEvent) -> Void
        /// The connection of a user holds more or fewer bytes by this; true: that is too much.
        let onHeld: @Sendable (_ change: Int, _ uid: UInt32) -> Bool
        let onClose: @Sendable (ServerConnection) -> Void
    }

    init(channel: any Channel, peer: PeerIdentity, service: Service) {
        self.channel = channel
        self.peer = peer
        self.service = service
        framer = MessageFramer(messageBytesMax: service.limits.messageBytesMax)
    }

    /// Bytes in the channel that the socket did not accept yet. Thread-safe.
    var bufferedBytes: Int { buffered.load(ordering: .relaxed) }
}

// The channel's events.
extension ServerConnection {
    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isClosed else { return }
        framer.append(unwrapInboundIn(data).readableBytesView)
        process()
        noteHeld()
    }

    func read(context: ChannelHandlerContext) {
        if isReadingPaused {
            isReadWanted = true
        } else {
            context.read()
        }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        updateBufferedBytes()
        guard context.channel.isWritable else { return }
        if case .streaming(let stream, _) = state { stream.checkDrained() }
        process()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard case ChannelEvent.inputClosed = event else { return }
        // A client may close its side and still expect its replies.
        inputEnded = true
        process()
    }

    func channelInactive(context: ChannelHandlerContext) {
        isClosed = true
        partialMessage?.timeout.cancel()
        partialMessage = nil
        switch state {
        case .idle: break
        case .calling(let task, let oneway):
            if !oneway { task?.cancel() }
        case .streaming(let stream, let task):
            if !stream.isMuted { task?.cancel() }
            state = .idle
            stream.connectionClosed()
        }
        // Oneway calls that were received completely are run nevertheless.
        process()
        // What a call holds that is under way still is given back when it ends.
        _ = service.onHeld(callBytes - noted, peer.uid)
        noted = 0
        isInactive = true
        service.onClose(self)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    /// Ends the connection. Any thread.
    func close() {
        channel.close(promise: nil)
    }

    /// Ends the connection once its calls are answered; before its first call it waits for one.
    /// Streams end at once. Any thread.
    func finish() {
        channel.eventLoop.execute { [self] in
            guard !isFinishing, !isClosed else { return }
            isFinishing = true
            if case .streaming(let stream, _) = state, stream.isContinuing { return close() }
            process()
        }
    }

    private var isReadingPaused: Bool {
        guard framer.bufferedBytes > service.limits.pipelinedBytesMax else { return false }
        if case .idle = state { return !channel.isWritable }
        return true
    }

    private func resumeReading() {
        guard isReadWanted, !isReadingPaused, !isClosed else { return }
        isReadWanted = false
        context?.read()
    }

    private func drop(_ reason: String) {
        service.onEvent(.connectionDropped(peer, reason: reason))
        isClosed = true
        context?.close(promise: nil)
    }

    private func updateBufferedBytes() {
        // The option belongs to socket channels; others (in tests) count as empty.
        let bytes = try? channel.syncOptions?.getOption(ChannelOptions.bufferedWritableBytes)
        buffered.store(bytes ?? 0, ordering: .relaxed)
        noteHeld()
    }

    /// Fewer bytes are not worth the registry's lock.
    private static let notedStep = 16 << 10

    /// Tells the registry what the connection holds now, and closes it where that is too much.
    private func noteHeld() {
        guard !isClosed else { return }
        let held = framer.bufferedBytes + bufferedBytes + callBytes
        let change = held - noted
        guard abs(change) >= Self.notedStep || held == 0 && noted != 0 else { return }
        noted = held
        if service.onHeld(change, peer.uid), change > 0 {
            let limit = service.limits.bytesPerUserMax
            drop("the connections of user \(peer.uid) hold more than \(limit) bytes")
        }
    }
}

// Calls.
extension ServerConnection {
    private var isIdle: Bool {
        if case .idle = state { true } else { false }
    }

    /// Runs calls until one is asynchronous or none is left. Called after every change of state.
    private func process() {
        guard !isProcessing, !isClosing || isClosed else { return }
        isProcessing = true
        var needsFlush = false
        do {
            while isIdle, isClosed || channel.isWritable,
                let (call, bytes) = try framer.next({ (try CallMessage(parsing: $0), $0.count) })
            {
                messages += 1
                if isClosed, !call.oneway { continue }
                if let reply = start(call, of: bytes) {
                    context?.write(wrapOutboundOut(reply), promise: nil)
                    needsFlush = true
                }
            }
        } catch is MessageFramer.TooLarge {
            flush()
            drop("a message of more than \(service.limits.messageBytesMax) bytes")
        } catch {
            // The valid calls before it are answered.
            flush()
            drop("not a varlink call: \(error)")
        }
        isProcessing = false
        if needsFlush { flush() }
        guard !isClosed else { return }
        watchPartialMessage()
        if hasAnsweredAll {
            closeWhenWritten()
        } else {
            resumeReading()
        }
    }

    /// No call is under way, and none will come.
    private var hasAnsweredAll: Bool {
        guard isIdle, channel.isWritable else { return false }
        return inputEnded || isFinishing && messages > 0 && framer.bufferedBytes == 0
    }

    /// What the socket did not accept yet would be dropped with the channel.
    private func closeWhenWritten() {
        guard !isClosing, let context else { return }
        isClosing = true
        context.writeAndFlush(wrapOutboundOut(ByteBuffer())).whenComplete { [channel] _ in
            channel.close(promise: nil)
        }
    }

    /// Starts a call.
    ///
    /// - Returns: its reply, if it is ready.
    private func start(_ message: CallMessage, of bytes: Int) -> ByteBuffer? {
        let call = IncomingCall(
            method: message.method, parameters: message.parameters, more: message.more,
            oneway: message.oneway, peer: peer)
        do {
            switch try service.methods.entry(for: message).handler {
            case .immediate(let handler):
                return reply(to: call, with: .success(try handler(call)))
            case .call(let handler):
                beginCall(of: bytes)
                state = .calling(nil, oneway: call.oneway)
                let task = run(handler, for: call)
                state = .calling(task, oneway: call.oneway)
            case .stream(let handler, _):
                let stream = ReplyStream(
                    connection: self, call: call, queuedBytesMax: service.limits.queuedBytesMax)
                beginCall(of: bytes)
                state = .streaming(stream, nil)
                state = .streaming(stream, run(handler, for: call, on: stream))
            }
            return nil
        } catch {
            return reply(to: call, with: .failure(error))
        }
    }

    // The tasks belong to the connection: it cancels them when it ends, and takes no other call
    // before they end.
    private func run(
        _ handler: @escaping ServedInterface.CallHandler, for call: IncomingCall
    ) -> Task<Void, Never> {
        Task {
            let result: Result<JSONObject, any Error>
            do {
                result = .success(try await handler(call))
            } catch {
                result = .failure(error)
            }
            // Encoded here: a large reply takes time, and the event loop has other clients.
            let reply = reply(to: call, with: result)
            channel.eventLoop.execute { self.callFinished(with: reply) }
        }
    }

    private func run(
        _ handler: @escaping ServedInterface.StreamHandler, for call: IncomingCall,
        on stream: ReplyStream
    ) -> Task<Void, Never> {
        let mapError = service.mapError
        return Task {
            do {
                try await handler(call, stream)
            } catch {
                stream.fail((error as? VarlinkError) ?? mapError(error, call))
            }
            channel.eventLoop.execute { self.releaseCall() }
        }
    }

    /// The parameters of a call are held from now on.
    private func beginCall(of bytes: Int) {
        callBytes = bytes
        if isInactive { _ = service.onHeld(bytes, peer.uid) }
    }

    /// The parameters of the call are not held any more.
    private func releaseCall() {
        channel.eventLoop.preconditionInEventLoop()
        if isInactive { _ = service.onHeld(-callBytes, peer.uid) }
        callBytes = 0
        noteHeld()
    }

    private func callFinished(with reply: ByteBuffer?) {
        releaseCall()
        state = .idle
        if !isClosed, let reply {
            context?.write(wrapOutboundOut(reply), promise: nil)
            flush()
        }
        process()
    }

    private func reply(
        to call: IncomingCall, with result: Result<JSONObject, any Error>
    ) -> ByteBuffer? {
        if call.oneway { return nil }
        switch result {
        case .success(let parameters):
            return EncodedReply(parameters, continues: false).buffer
        case .failure(let error):
            return EncodedReply((error as? VarlinkError) ?? service.mapError(error, call)).buffer
        }
    }

    /// Limits the time between the first and the last byte of a message.
    private func watchPartialMessage() {
        guard isIdle, framer.bufferedBytes > 0, channel.isWritable else {
            partialMessage?.timeout.cancel()
            partialMessage = nil
            return
        }
        if partialMessage?.messagesBefore == messages { return }
        partialMessage?.timeout.cancel()
        let timeout = channel.eventLoop.scheduleTask(in: .init(service.limits.messageTimeout)) {
            self.drop("a message was not completed in \(self.service.limits.messageTimeout)")
        }
        partialMessage = (timeout, messages)
    }
}

// Replies of streams.
extension ServerConnection {
    /// Writes replies at once.
    func write(_ buffers: [ByteBuffer]) {
        channel.eventLoop.preconditionInEventLoop()
        guard !isClosed, let context else { return }
        for buffer in buffers { context.write(wrapOutboundOut(buffer), promise: nil) }
        flush()
    }

    /// A descriptor of the connection's socket for a stream; nil where the channel has none (in
    /// tests), or none is left.
    func streamSocket() -> StreamSocket? {
        channel.eventLoop.preconditionInEventLoop()
        guard !isClosed else { return nil }
        let socket = try? channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(
            of: NIOBSDSocket.Handle.self
        ) { StreamSocket(duplicating: $0) }
        return socket ?? nil
    }

    /// The last reply of `stream` was written.
    func streamFinished(_ stream: ReplyStream) {
        channel.eventLoop.preconditionInEventLoop()
        guard case .streaming(let current, _) = state, current === stream else { return }
        state = .idle
        process()
    }

    private func flush() {
        context?.flush()
        updateBufferedBytes()
    }
}
