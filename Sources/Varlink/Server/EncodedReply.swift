import NIOCore

/// An encoded reply, shared by all clients that get it.
public struct EncodedReply: Sendable {
    let buffer: ByteBuffer

    /// Whether another reply to the same call follows.
    public let continues: Bool

    /// Encodes a reply.
    ///
    /// - Complexity: O(size of the parameters).
    public init(_ parameters: JSONObject, continues: Bool) {
        self.init(continues: continues) { $0.write(parameters) }
    }

    /// Encodes a reply whose parameters `write` writes as one JSON object.
    ///
    /// - Complexity: O(size of the parameters).
    public init(continues: Bool, parameters write: (inout JSONWriter) -> Void) {
        buffer = ByteBuffer(bytes: ReplyMessage.encoded(continues: continues, parameters: write))
        self.continues = continues
    }

    /// Encodes an error, which ends a call.
    public init(_ error: VarlinkError) {
        buffer = ByteBuffer(bytes: ReplyMessage(error).encoded())
        continues = false
    }

    /// A reply that another process of this service has encoded, with its NUL.
    ///
    /// The parameters are an object and come before `continues` (``ReplyMessage/encoded``): the
    /// message ends with `}}` if it is the last one, whatever values are in it, and with `true}` if
    /// another one follows.
    init(relaying message: ByteBuffer) {
        buffer = message
        let bytes = message.readableBytesView
        continues = !bytes.dropLast().suffix(2).elementsEqual("}}".utf8)
    }

    /// Its size on the wire in bytes.
    public var byteCount: Int { buffer.readableBytes }
}
