/// A call that reached its handler: its parameters fit the interface already.
public struct IncomingCall: Sendable {
    /// The qualified name of the method.
    public let method: String
    /// The parameters.
    public let parameters: JSONObject
    /// The caller takes many replies.
    public let more: Bool
    /// The caller wants no reply: what the handler returns is dropped.
    public let oneway: Bool
    /// Who calls.
    public let peer: PeerIdentity
}
