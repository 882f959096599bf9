import NIOHTTP1

/// The answer to a request: whole, or written piece by piece until the client leaves.
struct HTTPReply: Sendable {
    /// Writes the pieces of a body. Each call waits until the client has room.
    typealias Write = @Sendable ([UInt8]) async throws -> Void

    enum Body: Sendable {
        case bytes([UInt8])
        /// Is cancelled when the client has left; its end ends the connection.
        case stream(@Sendable (@escaping Write) async throws -> Void)
    }

    let status: HTTPResponseStatus
    let type: String
    let body: Body

    init(_ status: HTTPResponseStatus = .ok, type: String, body: Body) {
        (self.status, self.type, self.body) = (status, type, body)
    }

    /// A line of text.
    static func text(_ status: HTTPResponseStatus, _ text: String) -> HTTPReply {
        HTTPReply(
            status, type: "text/plain; charset=utf-8", body: .bytes(Array((text + "\n").utf8)))
    }
}
