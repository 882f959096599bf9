/// An event for the operator's log. The library itself never logs.
public enum ServerEvent: Sendable, Hashable {
    /// A connection was closed as soon as it was made, because of a limit.
    case connectionRefused(PeerIdentity, reason: String)
    /// A connection was closed because of what its client sent, or did not send.
    case connectionDropped(PeerIdentity, reason: String)
}
