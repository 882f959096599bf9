/// A call on the wire.
public struct CallMessage: Sendable, Hashable {
    /// The qualified name of the method.
    public var method: String
    /// The parameters; empty when the message had none.
    public var parameters: JSONObject
    /// The caller expects no reply.
    public var oneway: Bool
    /// The caller accepts several replies.
    public var more: Bool
    /// The caller asks to leave varlink on this connection.
    public var upgrade: Bool

    /// Makes a call.
    public init(
        method: String, parameters: JSONObject = [:], oneway: Bool = false, more: Bool = false,
        upgrade: Bool = false
    ) {
        self.method = method
        self.parameters = parameters
        self.oneway = oneway
        self.more = more
        self.upgrade = upgrade
    }

    /// Reads one message, without its NUL.
    ///
    /// - Throws: `JSONError`; unknown members of the message are ignored, as the protocol requires.
    public init(parsing bytes: UnsafeBufferPointer<UInt8>) throws(JSONError) {
        let message = try messageObject(bytes)
        var method: String?
        self.init(method: "")
        for member in message.members {
            switch member.name {
            case "method": method = member.value.string
            case "parameters": parameters = try memberParameters(member.value)
            case "oneway": oneway = try flag(member)
            case "more": more = try flag(member)
            case "upgrade": upgrade = try flag(member)
            default: break
            }
        }
        guard let method else { throw JSONError("a call without a method", offset: 0) }
        self.method = method
    }

    /// The message with its NUL.
    public func encoded() -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.name("method")
        writer.write(string: method)
        if !parameters.isEmpty {
            writer.name("parameters")
            writer.write(parameters)
        }
        for (name, value) in [("oneway", oneway), ("more", more), ("upgrade", upgrade)] where value
        {
            writer.name(name)
            writer.write(bool: true)
        }
        writer.endObject()
        writer.append(raw: 0)
        return writer.bytes
    }
}
