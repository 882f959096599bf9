/// A reply on the wire.
public struct ReplyMessage: Sendable, Hashable {
    /// The parameters of the reply or of the error; empty when the message had none.
    public var parameters: JSONObject
    /// Another reply to the same call follows.
    public var continues: Bool
    /// The qualified name of the error, when the call failed.
    public var error: String?
    /// The size of the message that it was read from, without its NUL; 0 for one that was made.
    var byteCount = 0

    /// Makes a reply.
    public init(parameters: JSONObject = [:], continues: Bool = false, error: String? = nil) {
        self.parameters = parameters
        self.continues = continues
        self.error = error
    }

    /// Makes the reply of a failed call.
    public init(_ error: VarlinkError) {
        self.init(parameters: error.parameters, error: error.name)
    }

    /// Reads one message, without its NUL.
    ///
    /// - Throws: `JSONError`; unknown members of the message are ignored, as the protocol requires.
    public init(parsing bytes: UnsafeBufferPointer<UInt8>) throws(JSONError) {
        let message = try messageObject(bytes)
        self.init()
        byteCount = bytes.count
        for member in message.members {
            switch member.name {
            case "parameters": parameters = try memberParameters(member.value)
            case "continues": continues = try flag(member)
            case "error":
                if member.value.isNull { continue }
                guard let name = member.value.string else {
                    throw JSONError("`error` is not a string", offset: 0)
                }
                error = name
            default: break
            }
        }
    }

    /// The message with its NUL.
    public func encoded() -> [UInt8] {
        Self.encoded(error: error, continues: continues) { $0.write(parameters) }
    }

    /// A message with its NUL whose parameters `write` writes as one value.
    static func encoded(
        error: String? = nil, continues: Bool, parameters write: (inout JSONWriter) -> Void
    ) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        if let error {
            writer.name("error")
            writer.write(string: error)
        }
        writer.name("parameters")
        write(&writer)
        if continues {
            writer.name("continues")
            writer.write(bool: true)
        }
        writer.endObject()
        writer.append(raw: 0)
        return writer.bytes
    }
}

extension ReplyMessage {
    /// Without the size of the message, which may have had other spaces.
    public static func == (left: ReplyMessage, right: ReplyMessage) -> Bool {
        left.parameters == right.parameters && left.continues == right.continues
            && left.error == right.error
    }

    /// As `==`.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(parameters)
        hasher.combine(continues)
        hasher.combine(error)
    }
}
