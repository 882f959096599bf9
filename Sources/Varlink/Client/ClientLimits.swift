/// The limits of what a client accepts from a service.
public struct ClientLimits: Sendable, Hashable {
    /// Bytes of one reply. A longer one ends the connection. Too low refuses long pages of history;
    /// too high lets a broken service fill the memory.
    public var messageBytesMax = 16 << 20

    /// Replies in the queue of a `callMore`. When it is full, reading from the socket stops until
    /// half of them are taken; the service sees a slow client.
    public var waitingRepliesMax = 256

    /// The same in bytes of the messages. Decoded they take some times as much.
    public var waitingBytesMax = 4 << 20

    /// How long to try again when the service has too many connections waiting to be accepted.
    public var connectTimeout: Duration = .seconds(5)

    /// The defaults.
    public init() {}
}
