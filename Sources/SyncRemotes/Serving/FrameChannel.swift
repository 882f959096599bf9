import CLinux
import Glibc
import SyncMerge

/// Frames over two descriptors: four bytes of length, big-endian, then the body.
///
/// Every wait has a timeout. Calls block: use one thread at a time, and none of the shared pool.
struct FrameChannel: Sendable {
    /// The maximum body. A longer frame is refused before memory is allocated for it.
    static let bodyBytesMax = BatchLimits.contentBytesMax + BatchLimits.envelopeBytesMax + 1024
    private static let chunkBytes = 1 << 16
    /// What a frame must bring on average once the first timeout is over: a peer that sends a byte
    /// from time to time would otherwise keep a caller for years.
    static let bytesPerSecondMin = 4096

    /// How a wait failed.
    enum Failure: Error {
        /// The peer closed the connection, or it broke.
        case ended
        /// Nothing was received, or could be sent, for this long.
        case timedOut(Duration)
        /// Something was received all the time, and after this long it was not complete.
        case unfinished(Duration)
    }

    let input: Int32
    let output: Int32
    /// The stderr of the peer's process, read while waiting; -1: none.
    let messages: Int32
    let tail: MessageTail

    init(input: Int32, output: Int32, messages: Int32 = -1, tail: MessageTail = MessageTail()) {
        self.input = input
        self.output = output
        self.messages = messages
        self.tail = tail
    }

    /// The body of the next frame.
    /// - Parameter timeout: how long to wait for the next byte.
    /// - Throws: ``Failure``; `badData` for a frame that is too long.
    func read(timeout: Duration) throws -> [UInt8] {
        let head = try bytes(4, timeout: timeout)
        let length = head.reduce(0) { $0 << 8 | Int($1) }
        guard length <= Self.bodyBytesMax else {
            throw SyncError(.badData, "a frame of \(length) bytes is too long")
        }
        return try bytes(length, timeout: timeout)
    }

    /// Sends one frame.
    /// - Throws: ``Failure``.
    func write(_ body: [UInt8], timeout: Duration) throws {
        let length = UInt32(body.count)
        let head = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: length >> UInt32($0)) }
        try send(head + body, timeout: timeout)
    }

    /// Sends bytes that are not a frame.
    /// - Throws: ``Failure``.
    func send(_ bytes: [UInt8], timeout: Duration) throws {
        var start = 0
        while start < bytes.count {
            try wait(for: POLLOUT, on: output, timeout: timeout)
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

    /// A line without its newline.
    /// - Parameters:
    ///   - end: when it must be complete.
    ///   - timeout: what is said when it is not.
    /// - Throws: ``Failure``; `badData` when the line is longer than `limit`.
    func line(
        limit: Int, by end: ContinuousClock.Instant, timeout: Duration
    ) throws -> [UInt8] {
        var line: [UInt8] = []
        while true {
            let byte: UInt8
            do {
                byte = try bytes(1, timeout: max(.zero, end - .now))[0]
            } catch Failure.timedOut {
                throw Failure.timedOut(timeout)
            }
            if byte == UInt8(ascii: "\n") { return line }
            line.append(byte)
            guard line.count <= limit else { throw SyncError(.badData, "a line is too long") }
        }
    }

    /// Memory grows with the bytes received, not with the length announced.
    private func bytes(_ count: Int, timeout: Duration) throws -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: min(count, Self.chunkBytes))
        let start = ContinuousClock.now
        while bytes.count < count {
            try wait(for: POLLIN, on: input, timeout: timeout)
            let wanted = min(chunk.count, count - bytes.count)
            let got = chunk.withUnsafeMutableBytes { Glibc.read(input, $0.baseAddress, wanted) }
            if got > 0 {
                bytes += chunk[..<got]
                let taken = ContinuousClock.now - start
                guard taken <= timeout + .seconds(bytes.count / Self.bytesPerSecondMin) else {
                    throw Failure.unfinished(taken)
                }
            } else if got == 0 || (errno != EINTR && errno != EAGAIN) {
                throw Failure.ended
            }
        }
        return bytes
    }

    private func wait(
        for event: Int32, on descriptor: Int32, timeout: Duration
    ) throws {
        let end = ContinuousClock.now + timeout
        while true {
            let left = end - .now
            guard left > .zero else { throw Failure.timedOut(timeout) }
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
