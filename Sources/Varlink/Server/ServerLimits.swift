/// The limits of what clients may use. No client makes a server use more.
public struct ServerLimits: Sendable, Hashable {
    /// Connections at once. One more is closed as soon as it is accepted. Too low turns clients
    /// away; too high runs out of descriptors, and then no client is accepted at all.
    public var connectionsMax = 4096

    /// Connections at once of one user, so that none can take all. Too low breaks desktops where
    /// each application holds a subscription.
    public var connectionsPerUserMax = 1024

    /// Bytes of one message. A client that sends a longer one is disconnected.
    public var messageBytesMax = 1 << 20

    /// Bytes of further calls that are read while a call is answered. Beyond, the client's own
    /// socket fills up and it waits: pipelining is not slowed below this.
    public var pipelinedBytesMax = 64 << 10

    /// Bytes in the queue of a client. A stream whose queue is full accepts no reply until half of
    /// it is read; ordinary calls of that client wait meanwhile. Too low makes short bursts lag;
    /// the product with `connectionsMax` is memory.
    public var queuedBytesMax = 1 << 20

    /// Bytes that the server holds for all connections of one user: messages that are not complete,
    /// calls that wait, replies that were not read. The connection that exceeds it is closed.
    /// Without it a user has `connectionsPerUserMax` times the limits above; too low disconnects a
    /// user with many slow clients.
    public var bytesPerUserMax = 64 << 20

    /// How long a message may take from its first byte to its last. Too short disconnects a
    /// suspended client; too long lets incomplete messages hold memory.
    public var messageTimeout: Duration = .seconds(30)

    /// The defaults.
    public init() {}
}
