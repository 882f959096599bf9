import NIOCore
import Synchronization

/// The replies to one streaming call. Thread-safe; no call blocks.
///
/// Replies reach the client in the order in which `send` and `broadcast` accepted them. What a slow
/// client leaves unread is bounded by `ServerLimits.queuedBytesMax`: beyond, replies are refused
/// (`.overBound`), until half has been read and `onDrained` is called. The sender then continues
/// from its own history.
///
/// A reply is written to the socket at once, on the caller's thread, when the queue is empty:
/// waking the event loop for it costs more than the write (about 30 µs of the 100 until a waiting
/// client has it).
///
/// Invariants, guarded by the mutex: replies in `queue` have not been given to the channel;
/// `isScheduled` while a flush is scheduled on the event loop, `isFlushing` while it runs; after
/// `isFinished` nothing is added; each of the callbacks is called on the event loop, and none is
/// kept after `isFinished` or `isClosed`: what they hold, holds the stream. The sender writes to
/// the socket itself only while `queue` and channel are empty and no flush is scheduled or running:
/// bytes of two threads never mix.
public final class ReplyStream: Sendable {
    /// What happened to a reply.
    public enum SendResult: Sendable, Hashable {
        /// It is written, unless the client disconnects.
        case accepted
        /// The client's queue is full. The reply was dropped.
        case overBound
        /// The client is gone, or the stream was finished. The reply was dropped.
        case closed
    }

    private struct State {
        var queue: [ByteBuffer] = []
        var bytesInQueue = 0
        var isScheduled = false
        var isFlushing = false
        var isFinished = false
        /// For direct writes; nil before the first flush (replies to earlier calls may be in the
        /// channel) and after the end.
        var socket: StreamSocket?
        var isClosed = false
        var awaitsDrain = false
        var onClose: (@Sendable () -> Void)?
        var onDrained: (@Sendable () -> Void)?

        /// Whether there may be more replies, and callbacks.
        var isOpen: Bool { !isFinished && !isClosed }
    }

    /// The loop of the connection and of the callbacks.
    public let eventLoop: any EventLoop

    /// The calling process.
    public let peer: PeerIdentity

    private let connection: ServerConnection
    private let queuedBytesMax: Int
    /// The caller expects no reply.
    let isMuted: Bool
    /// The caller expects more than one.
    let isContinuing: Bool
    private let state = Mutex(State())

    init(connection: ServerConnection, call: IncomingCall, queuedBytesMax: Int) {
        eventLoop = connection.channel.eventLoop
        peer = call.peer
        isMuted = call.oneway
        isContinuing = call.more
        self.connection = connection
        self.queuedBytesMax = queuedBytesMax
    }

    /// Whether the next reply would be accepted.
    public var isWritable: Bool {
        state.withLock { accepts($0) }
    }

    /// Bytes that are queued. What the client has read since the last send may still be counted.
    public var queuedBytes: Int {
        state.withLock { $0.bytesInQueue } + connection.bufferedBytes
    }

    /// Sends a reply. One that does not continue is accepted even over the bound, and finishes the
    /// stream.
    @discardableResult
    public func send(_ reply: EncodedReply) -> SendResult {
        let (result, needsFlush) = enqueue(reply, isDirect: true)
        if needsFlush { Self.flush([self], on: eventLoop) }
        return result
    }

    /// Encodes and sends a reply.
    @discardableResult
    public func send(_ parameters: JSONObject, continues: Bool) -> SendResult {
        send(EncodedReply(parameters, continues: continues))
    }

    /// Ends the stream with a last reply.
    public func finish(_ parameters: JSONObject = [:]) {
        send(EncodedReply(parameters, continues: false))
    }

    /// Ends the stream with an error.
    public func fail(_ error: VarlinkError) {
        send(EncodedReply(error))
    }

    /// Calls `body` on the event loop, once, when the connection ends before the stream was
    /// finished; at once when that has happened. Replaces what was set before.
    public func onClose(_ body: @escaping @Sendable () -> Void) {
        let isClosed = state.withLock { state in
            if state.isOpen { state.onClose = body }
            return state.isClosed
        }
        if isClosed { eventLoop.execute(body) }
    }

    /// Calls `body` on the event loop each time that replies are accepted again after one was
    /// refused as over the bound. Replaces what was set before.
    public func onDrained(_ body: @escaping @Sendable () -> Void) {
        state.withLock { if $0.isOpen { $0.onDrained = body } }
    }

    /// A broadcast to more streams leaves the writing to the event loops: the caller has other
    /// stores to serve.
    private static let directStreamsMax = 128

    /// Sends one encoded reply to many streams: no copy, no task; at most one hop to each event
    /// loop, and none for few streams whose queues are empty.
    ///
    /// - Parameter atOnce: false when many replies follow each other: the event loops write them
    ///   then, several at a time, and the caller is free sooner.
    /// - Returns: the streams that refused it because they are over their bound. Closed ones are
    ///   skipped.
    /// - Complexity: O(streams).
    public static func broadcast(
        _ reply: EncodedReply, to streams: some Collection<ReplyStream>, atOnce: Bool = true
    ) -> [ReplyStream] {
        let isDirect = atOnce && streams.count <= directStreamsMax
        var refused: [ReplyStream] = []
        var scheduled: [(loop: any EventLoop, streams: [ReplyStream])] = []
        for stream in streams {
            let (result, needsFlush) = stream.enqueue(reply, isDirect: isDirect)
            if result == .overBound { refused.append(stream) }
            guard needsFlush else { continue }
            if let index = scheduled.firstIndex(where: { $0.loop === stream.eventLoop }) {
                scheduled[index].streams.append(stream)
            } else {
                scheduled.append((stream.eventLoop, [stream]))
            }
        }
        for (loop, streams) in scheduled { flush(streams, on: loop) }
        return refused
    }
}

extension ReplyStream: Hashable {
    /// Identity.
    public static func == (left: ReplyStream, right: ReplyStream) -> Bool { left === right }

    /// Identity.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

extension ReplyStream {
    private func accepts(_ state: State) -> Bool {
        state.isOpen && state.bytesInQueue <= queuedBytesMax && connection.channel.isWritable
    }

    /// Adds a reply to the queue, or refuses it.
    ///
    /// - Returns: `needsFlush`: the caller has to flush.
    private func enqueue(
        _ reply: EncodedReply, isDirect: Bool
    ) -> (result: SendResult, needsFlush: Bool) {
        state.withLock { state in
            guard state.isOpen else { return (.closed, false) }
            let accepted = !reply.continues || accepts(state)
            if accepted {
                var rest = reply.buffer
                if isDirect, reply.continues { sendDirectly(&rest, in: state) }
                guard rest.readableBytes > 0 else { return (.accepted, false) }
                state.queue.append(rest)
                state.bytesInQueue += rest.readableBytes
                state.isFinished = !reply.continues
            } else if state.awaitsDrain {
                return (.overBound, false)
            } else {
                // The flush checks again, so that a drain in this very moment is not missed.
                state.awaitsDrain = true
            }
            defer { state.isScheduled = true }
            return (accepted ? .accepted : .overBound, !state.isScheduled)
        }
    }

    /// Writes what the socket accepts now, if the queue is empty.
    private func sendDirectly(_ reply: inout ByteBuffer, in state: State) {
        guard let socket = state.socket, state.queue.isEmpty, !state.isScheduled,
            !state.isFlushing, connection.bufferedBytes == 0
        else { return }
        socket.send(&reply)
    }

    private static func flush(_ streams: [ReplyStream], on loop: any EventLoop) {
        if loop.inEventLoop {
            for stream in streams { stream.flush() }
        } else {
            loop.execute { for stream in streams { stream.flush() } }
        }
    }

    /// On the event loop: writes the queue to the channel.
    private func flush() {
        let (buffers, isFinished) = state.withLock { state in
            defer {
                state.queue = []
                state.bytesInQueue = 0
            }
            state.isScheduled = false
            state.isFlushing = true
            return (state.queue, state.isFinished)
        }
        if !isMuted, !buffers.isEmpty { connection.write(buffers) }
        // What a finished stream drops is released after the lock.
        _ = state.withLock { state in
            state.isFlushing = false
            defer { if isFinished { (state.onClose, state.onDrained) = (nil, nil) } }
            if isFinished || state.isClosed {
                state.socket = nil
            } else if state.socket == nil, !isMuted {
                state.socket = connection.streamSocket()
            }
            return (state.onClose, state.onDrained)
        }
        if isFinished, !buffers.isEmpty {
            connection.streamFinished(self)
        } else {
            checkDrained()
        }
    }

    /// On the event loop, by the connection, when the channel accepts bytes again.
    func checkDrained() {
        let onDrained = state.withLock { state -> (@Sendable () -> Void)? in
            guard state.awaitsDrain, accepts(state) else { return nil }
            state.awaitsDrain = false
            return state.onDrained
        }
        onDrained?()
    }

    /// On the event loop, by the connection, when it has ended.
    func connectionClosed() {
        let onClose = state.withLock { state -> (@Sendable () -> Void)? in
            guard !state.isClosed else { return nil }
            state.isClosed = true
            state.socket = nil
            state.queue = []
            state.bytesInQueue = 0
            state.onDrained = nil
            defer { state.onClose = nil }
            return state.isFinished ? nil : state.onClose
        }
        onClose?()
    }
}
