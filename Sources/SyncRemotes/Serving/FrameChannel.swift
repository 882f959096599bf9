import CLinux
import Glibc
import SyncMerge

/// Frames over two descriptors: four bytes of length, the highest first, then the body.
///
/// Every wait has an end. Blocking: one thread at a time, not the pool's.
struct FrameChannel: Sendable {
    /// A frame that is longer is refused before room is made for it.
    static let bodyBytesMax = BatchLimits.contentBytesMax + BatchLimits.envelopeBytesMax + 1024
    private static let chunkBytes = 1 << 16

    /// How a wait ended without what was waited for.
    enum Failure: Error {
        /// The other side closed, or the connection broke.
        case ended
        /// Nothing came, or could be sent, for so long.
        case timedOut(Duration)
    }

    let input: Int32
    let output: Int32
    /// The other side's messages to people, read while we wait; -1: none.
    let messages: Int32
    let tail: MessageTail

    init(input: Int32, output: Int32, messages: Int32 = -1, tail: MessageTail = MessageTail()) {
        self.input = input
        self.output = output
        self.messages = messages
        self.tail = tail
    }

    /// The body of the next frame.
    /// - Parameter patience: how long nothing may come before it is given up.
    /// - Throws: ``Failure``; `badData` for a frame that is too long.
    func read(patience: Duration) throws -> [UInt8] {
        let head = try bytes(4, patience)
        let length = head.reduce(0) { $0 << 8 | Int($1) }
        guard length <= Self.bodyBytesMax else {
            throw SyncError(.badData, "a frame of \(length) bytes is too long")
        }
        return try bytes(length, patience)
    }

    /// Sends one frame.
    /// - Throws: ``Failure``.
    func write(_ body: [UInt8], patience: Duration) throws {
        let length = UInt32(body.count)
        let head = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: length >> UInt32($0)) }
        try send(head + body, patience)
    }

    /// Sends bytes that are no frame.
    func send(_ bytes: [UInt8], _ patience: Duration) throws {
        var start = 0
        while start < bytes.count {
            try wait(output, POLLOUT, patience)
            let count = min(Self.chunkBytes, bytes.count - start)
            let written = bytes[start..<start + count].withUnsafeBytes {
                syncd_write(output, $0.baseAddress, count)
            }
            if written > 0 {
                start += written
            } else if errno != EINTR && errno != EAGAIN {
                throw Failure.ended
            }
        }
    }

    /// A line without its end.
    /// - Throws: ``Failure``; `badData` when the line is longer than `limit`.
    func line(limit: Int, patience: Duration) throws -> [UInt8] {
        var line: [UInt8] = []
        while true {
            let byte = try bytes(1, patience)[0]
            if byte == UInt8(ascii: "\n") { return line }
            line.append(byte)
            guard line.count <= limit else { throw SyncError(.badData, "a line is too long") }
        }
    }

    /// Memory grows with what comes, not with what was announced.
    private func bytes(_ count: Int, _ patience: Duration) throws -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: min(count, Self.chunkBytes))
        while bytes.count < count {
            try wait(input, POLLIN, patience)
            let wanted = min(chunk.count, count - bytes.count)
            let got = chunk.withUnsafeMutableBytes { Glibc.read(input, $0.baseAddress, wanted) }
            if got > 0 {
                bytes += chunk[..<got]
            } else if got == 0 || (errno != EINTR && errno != EAGAIN) {
                throw Failure.ended
            }
        }
        return bytes
    }

    private func wait(_ descriptor: Int32, _ event: Int32, _ patience: Duration) throws {
        let end = ContinuousClock.now + patience
        while true {
            let left = end - .now
            guard left > .zero else { throw Failure.timedOut(patience) }
            var polled = [pollfd(fd: descriptor, events: Int16(event), revents: 0)]
            if messages >= 0, !tail.isAtEnd {
                polled.append(pollfd(fd: messages, events: Int16(POLLIN), revents: 0))
            }
            let (seconds, attoseconds) = left.components
            let nanoseconds = seconds * 1_000_000_000 + attoseconds / 1_000_000_000
            guard syncd_poll(&polled, Int32(polled.count), nanoseconds) >= 0 || errno == EINTR
            else { throw Failure.ended }
            if polled.count > 1, polled[1].revents != 0 { tail.read(from: messages) }
            if polled[0].revents != 0 { return }
        }
    }
}
