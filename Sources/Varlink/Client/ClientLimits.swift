/// What a client takes from a service.
public struct ClientLimits: Sendable, Hashable {
    /// Bytes of one reply. A longer one ends the connection. Too low refuses long pages of history;
    /// too high lets a broken service fill the memory.
    public var messageBytesMax = 16 << 20

    /// Replies of a `callMore` that wait for their reader. Then reading from the socket stops,
    /// until half of them are taken; the service sees a slow client.
    public var waitingRepliesMax = 256

    /// How long to try again when the service has too many connections waiting to be accepted.
    public var connectTimeout: Duration = .seconds(5)

    /// The defaults.
    public init() {}
}
