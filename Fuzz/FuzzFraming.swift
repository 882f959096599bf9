// A stream cut into pieces: the same messages come out as from the whole, and each is a call, a
// reply or an error.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzFraming(_ data: UnsafePointer<UInt8>, _ size: Int) -> CInt {
    // The first byte says how long the pieces are.
    guard size > 1 else { return 0 }
    let stream = Array(UnsafeBufferPointer(start: data + 1, count: size - 1))
    let pieces = messages(stream, pieceBytes: Int(data[0]) % 16 + 1)
    let whole = messages(stream, pieceBytes: stream.count)
    precondition(whole.count == pieces.count, "pieces give other messages than the whole")
    precondition(whole == pieces, "pieces give other messages than the whole")
    return 0
}

private func messages(_ stream: [UInt8], pieceBytes: Int) -> [[UInt8]] {
    var framer = MessageFramer(messageBytesMax: 64)
    var messages: [[UInt8]] = []
    var start = 0
    do {
        while start < stream.count {
            let end = min(start + pieceBytes, stream.count)
            framer.append(stream[start..<end])
            start = end
            while let message = try framer.next({ Array($0) }) {
                messages.append(message)
                check(message)
            }
        }
    } catch {
        // Too large a message ends the connection.
    }
    return messages
}

private func check(_ message: [UInt8]) {
    message.withUnsafeBufferPointer { bytes in
        if let call = try? CallMessage(parsing: bytes) {
            let again = call.encoded().dropLast().withUnsafeBufferPointer {
                try? CallMessage(parsing: $0)
            }
            precondition(again == call, "a call does not read the same")
        }
        if let reply = try? ReplyMessage(parsing: bytes) {
            let again = reply.encoded().dropLast().withUnsafeBufferPointer {
                try? ReplyMessage(parsing: $0)
            }
            precondition(again == reply, "a reply does not read the same")
        }
    }
}
