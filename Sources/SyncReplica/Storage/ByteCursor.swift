import SyncMerge

/// Reads bytes in place. Beyond their end everything is 0, and ``isBroken`` is true.
struct ByteCursor {
    private let bytes: UnsafeRawBufferPointer
    private(set) var position = 0
    private(set) var isBroken = false
    /// Whether a blob was skipped that begins as a state does.
    private(set) var hasMetState = false
    /// Whether a field was skipped of a column that its version does not state.
    private(set) var hasMetPart = false

    init(_ bytes: UnsafeRawBufferPointer, at position: Int = 0) {
        self.bytes = bytes
        self.position = position
    }

    var isAtEnd: Bool { position == bytes.count }

    /// The byte that is read next; 0 at the end.
    var next: UInt8 { position < bytes.count ? bytes[position] : 0 }

    mutating func byte() -> UInt8 {
        guard position < bytes.count else {
            isBroken = true
            return 0
        }
        defer { position += 1 }
        return bytes[position]
    }

    mutating func varint() -> UInt64 {
        var value: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 64, by: 7) {
            let next = byte()
            value |= UInt64(next & 0x7f) << shift
            if next < 0x80 { return value }
        }
        isBroken = true
        return 0
    }

    /// A number of facts. One that is greater than the number of all bytes is damage.
    mutating func count() -> Int {
        let count = varint()
        if count <= UInt64(bytes.count) { return Int(count) }
        isBroken = true
        return 0
    }

    /// A transaction, as records name it.
    mutating func dot() -> RecordDot {
        let replica = Int64(truncatingIfNeeded: varint())
        return RecordDot(replica: replica, number: Int64(truncatingIfNeeded: varint()))
    }

    /// Eight bytes, most significant first.
    mutating func bigEndian() -> UInt64 {
        guard bytes.count - position >= 8 else {
            isBroken = true
            return 0
        }
        defer { position += 8 }
        return UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self))
    }

    mutating func skip(_ count: Int) {
        guard count >= 0, count <= bytes.count - position else {
            isBroken = true
            return
        }
        position += count
    }

    /// Skips a field.
    /// - Returns: where the identity begins that it refers to; nil for a plain value.
    mutating func skipField() -> Int? {
        switch byte() {
        case 0: break
        case 1: _ = varint()
        case 2: skip(8)
        case 3: skip(Int(truncatingIfNeeded: varint()))
        case 4:
            let count = Int(truncatingIfNeeded: varint())
            let start = position
            skip(count)
            if !isBroken,
                BlendCoding.escapes(UnsafeRawBufferPointer(rebasing: bytes[start..<position]))
            {
                hasMetState = true
            }
        case RecordCoding.referenceTag:
            let start = position
            skip(16)
            _ = varint()
            return isBroken ? nil : start
        case RecordCoding.unstatedTag: hasMetPart = true
        default: isBroken = true
        }
        return nil
    }
}
