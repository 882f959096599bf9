/// Splits a byte stream into messages: each ends with a NUL byte, which JSON never contains.
///
/// Invariants: `readIndex <= scanIndex <= bytes.count`; no NUL lies in `readIndex..<scanIndex`, so
/// that every byte is scanned once, however small the pieces in which a message arrives.
public struct MessageFramer {
    /// A message is longer than allowed.
    public struct TooLarge: Error {}

    /// The maximum size of a message in bytes, without its NUL.
    public let messageBytesMax: Int

    private var bytes: [UInt8] = []
    private var readIndex = 0
    private var scanIndex = 0

    // More memory than this is freed after a large message.
    private static let keptBytesMax = 64 << 10

    /// Makes an empty framer.
    public init(messageBytesMax: Int) {
        self.messageBytesMax = messageBytesMax
    }

    /// Bytes that arrived and are not part of a complete message yet.
    public var bufferedBytes: Int { bytes.count - readIndex }

    /// Adds what arrived.
    public mutating func append(_ new: some Collection<UInt8>) {
        if readIndex == bytes.count {
            let keepsMemory = bytes.capacity <= Self.keptBytesMax
            bytes.removeAll(keepingCapacity: keepsMemory)
            readIndex = 0
            scanIndex = 0
        } else if readIndex > Self.keptBytesMax {
            bytes.removeFirst(readIndex)
            scanIndex -= readIndex
            readIndex = 0
        }
        bytes.append(contentsOf: new)
    }

    /// Calls `body` with the next complete message, and removes it; nil when none is complete yet.
    ///
    /// - Throws: `TooLarge` as soon as the message is known to exceed the limit, or what `body`
    ///   throws.
    public mutating func next<Result>(
        _ body: (UnsafeBufferPointer<UInt8>) throws -> Result
    ) throws -> Result? {
        let start = readIndex
        let end = bytes.withUnsafeBufferPointer { bytes in
            bytes[scanIndex...].firstIndex(of: 0)
        }
        guard let end else {
            scanIndex = bytes.count
            if bytes.count - start > messageBytesMax { throw TooLarge() }
            return nil
        }
        if end - start > messageBytesMax { throw TooLarge() }
        readIndex = end + 1
        scanIndex = end + 1
        return try bytes.withUnsafeBufferPointer { bytes in
            try body(UnsafeBufferPointer(rebasing: bytes[start..<end]))
        }
    }
}
