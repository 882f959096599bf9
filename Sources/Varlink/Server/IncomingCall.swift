/// A call for a handler: its parameters have been checked against the interface.
public struct IncomingCall: Sendable {
    /// The qualified name of the method.
    public let method: String
    /// The parameters.
    public let parameters: JSONObject
    /// The caller accepts several replies.
    public let more: Bool
    /// The caller expects no reply: what the handler returns is dropped.
    public let oneway: Bool
    /// The calling process.
    public let peer: PeerIdentity
}
