@testable import SyncCore
@testable import SyncValues
@testable import Varlink

/// Texts and messages: a value or an error, and a value is written and read back the same.
enum ParserTargets {
    @Sendable static func json(_ bytes: [UInt8]) throws {
        guard let value = try? bytes.withUnsafeBufferPointer({ try JSONParser.parse($0) }) else {
            return
        }
        let again = try? JSONParser.parse(value.description)
        try require(again == value, "what was written does not read the same")
    }

    @Sendable static func idl(_ bytes: [UInt8]) throws {
        let text = String(decoding: bytes, as: UTF8.self)
        guard let interface = try? Interface(parsing: text) else { return }
        let again = try? Interface(parsing: interface.description)
        try require(again == interface, "what was printed does not read the same")
    }

    @Sendable static func token(_ bytes: [UInt8]) throws {
        let text = String(decoding: bytes, as: UTF8.self)
        if let token = try refusing("token", { try Token(text) }) {
            try require(
                (try? Token(token.description)) == token, "a token does not read the same")
        }
        if let key = ObjectKey(text: text) {
            try require(ObjectKey(text: key.description) == key, "a key does not read the same")
        }
        if let (entity, key) = ObjectID.parse(path: text) {
            let path = ObjectID(
                store: StoreID(high: 1, low: 2), entity: entity, key: key, incarnation: 0
            ).path
            guard let (again, keyAgain) = ObjectID.parse(path: path) else {
                throw Finding("a path does not read back: \(path)")
            }
            try require(again == entity && keyAgain == key, "a path does not read the same")
        }
        if let time = Timestamp(text) {
            try require(Timestamp(time.description) == time, "a moment does not read the same")
        }
    }

    // MARK: Framing

    /// A stream cut into pieces: the same messages come out as from the whole, and each is a call,
    /// a reply or an error.
    @Sendable static func framing(_ bytes: [UInt8]) throws {
        // The first byte says how long the pieces are.
        guard let first = bytes.first, bytes.count > 1 else { return }
        let stream = Array(bytes.dropFirst())
        let pieces = try messages(stream, pieceBytes: Int(first) % 16 + 1)
        let whole = try messages(stream, pieceBytes: stream.count)
        try require(whole == pieces, "pieces give other messages than the whole")
    }

    private static func messages(_ stream: [UInt8], pieceBytes: Int) throws -> [[UInt8]] {
        var framer = MessageFramer(messageBytesMax: 64)
        var messages: [[UInt8]] = []
        var start = 0
        while start < stream.count {
            let end = min(start + pieceBytes, stream.count)
            framer.append(stream[start..<end])
            start = end
            // Too large a message ends the connection.
            while let message = try? framer.next({ Array($0) }) {
                messages.append(message)
                try check(message)
            }
        }
        return messages
    }

    private static func check(_ message: [UInt8]) throws {
        try message.withUnsafeBufferPointer { bytes in
            if let call = try? CallMessage(parsing: bytes) {
                let again = call.encoded().dropLast().withUnsafeBufferPointer {
                    try? CallMessage(parsing: $0)
                }
                try require(again == call, "a call does not read the same")
            }
            if let reply = try? ReplyMessage(parsing: bytes) {
                let again = reply.encoded().dropLast().withUnsafeBufferPointer {
                    try? ReplyMessage(parsing: $0)
                }
                try require(again == reply, "a reply does not read the same")
            }
        }
    }
}
