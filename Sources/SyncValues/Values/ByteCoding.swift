/// Appends numbers and values to bytes: LEB128 varints, zigzag for signed ones.
package struct ByteWriter {
    @usableFromInline package internal(set) var bytes: [UInt8] = []

    @inlinable package init() {}

    /// With memory for `capacity` bytes: a few short appends do not move it.
    @inlinable package init(capacity: Int) { bytes.reserveCapacity(capacity) }

    /// Begins again, with the memory that it has.
    @inlinable package mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }

    @inlinable package mutating func append(byte: UInt8) { bytes.append(byte) }

    @inlinable package mutating func append(raw data: some Sequence<UInt8>) {
        bytes.append(contentsOf: data)
    }

    /// Not generic: most of what is written.
    @inlinable package mutating func append(raw data: [UInt8]) { bytes.append(contentsOf: data) }

    /// Bytes in place: not generic, for where many short ones are written.
    @inlinable package mutating func append(bytes data: UnsafeRawBufferPointer) {
        data.withMemoryRebound(to: UInt8.self) { bytes.append(contentsOf: $0) }
    }

    /// Eight bytes, most significant first.
    @inlinable package mutating func append(bigEndian word: UInt64) {
        withUnsafeBytes(of: word.bigEndian) { append(bytes: $0) }
    }

    @inlinable package mutating func append(varint value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    @inlinable package mutating func append(signed value: Int64) {
        append(varint: UInt64(bitPattern: value << 1 ^ value >> 63))
    }

    @inlinable package mutating func append(counted data: some Collection<UInt8>) {
        append(varint: UInt64(data.count))
        bytes.append(contentsOf: data)
    }

    /// Not generic.
    @inlinable package mutating func append(counted data: [UInt8]) {
        append(varint: UInt64(data.count))
        bytes.append(contentsOf: data)
    }

    /// The bytes that SQLite has for a text, after their count.
    package mutating func append(countedText text: String) {
        var text = text
        text.withTextBytes { data in
            append(varint: UInt64(data.count))
            bytes.append(contentsOf: data)
        }
    }

    @inlinable package mutating func append(_ value: Value) {
        switch value {
        case .null: append(byte: 0)
        case .integer(let integer):
            append(byte: 1)
            append(signed: integer)
        case .real(let real):
            append(byte: 2)
            let pattern = real.bitPattern
            for shift in stride(from: 56, through: 0, by: -8) {
                append(byte: UInt8(truncatingIfNeeded: pattern >> UInt64(shift)))
            }
        case .text(let text):
            append(byte: 3)
            append(countedText: text)
        case .blob(let blob):
            append(byte: 4)
            append(counted: blob)
        }
    }
}

/// Reads what ``ByteWriter`` wrote. Every read checks the bounds: bytes that end too soon or make
/// no sense are a ``SyncError`` with code `badData`, never a crash.
package struct ByteReader {
    @usableFromInline let bytes: [UInt8]
    @usableFromInline package internal(set) var position = 0

    @inlinable package init(_ bytes: [UInt8]) { self.bytes = bytes }

    @inlinable package var isAtEnd: Bool { position == bytes.count }

    /// How many bytes are left.
    @inlinable package var remaining: Int { bytes.count - position }

    /// The next `count` bytes.
    /// - Throws: `badData`.
    @inlinable package mutating func raw(_ count: Int) throws -> ArraySlice<UInt8> {
        guard count <= remaining else { throw Self.cutShort }
        defer { position += count }
        return bytes[position..<position + count]
    }

    /// The next byte.
    /// - Throws: `badData`.
    @inlinable package mutating func byte() throws -> UInt8 {
        guard position < bytes.count else { throw Self.cutShort }
        defer { position += 1 }
        return bytes[position]
    }

    /// Eight bytes, most significant first.
    /// - Throws: `badData`.
    @inlinable package mutating func bigEndian() throws -> UInt64 {
        guard remaining >= 8 else { throw Self.cutShort }
        defer { position += 8 }
        return bytes.withUnsafeBytes {
            UInt64(bigEndian: $0.loadUnaligned(fromByteOffset: position, as: UInt64.self))
        }
    }

    /// A LEB128 number.
    /// - Throws: `badData`.
    @inlinable package mutating func varint() throws -> UInt64 {
        var value: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 64, by: 7) {
            let next = try byte()
            value |= UInt64(next & 0x7f) << shift
            if next < 0x80 {
                guard shift < 63 || next < 2 else { break }
                return value
            }
        }
        throw SyncError(.badData, "a number has more than 64 bits")
    }

    /// A zigzag LEB128 number.
    /// - Throws: `badData`.
    @inlinable package mutating func signed() throws -> Int64 {
        let raw = try varint()
        return Int64(bitPattern: raw >> 1) ^ -Int64(bitPattern: raw & 1)
    }

    /// Bytes after their count.
    /// - Throws: `badData`.
    @inlinable package mutating func counted() throws -> ArraySlice<UInt8> {
        let count = try varint()
        guard count <= UInt64(bytes.count - position) else { throw Self.cutShort }
        defer { position += Int(count) }
        return bytes[position..<position + Int(count)]
    }

    /// A value after its tag.
    /// - Throws: `badData`.
    @inlinable package mutating func value() throws -> Value {
        try value(tag: try byte())
    }

    /// A value whose tag has been read.
    /// - Throws: `badData`.
    @inlinable package mutating func value(tag: UInt8) throws -> Value {
        switch tag {
        case 0: return .null
        case 1: return .integer(try signed())
        case 2:
            var pattern: UInt64 = 0
            for _ in 0..<8 { pattern = pattern << 8 | UInt64(try byte()) }
            return .real(Double(bitPattern: pattern))
        case 3: return .text(String(textBytes: try counted()))
        case 4: return .blob(Array(try counted()))
        default: throw SyncError(.badData, "unknown value tag \(tag)")
        }
    }

    @usableFromInline static var cutShort: SyncError {
        SyncError(.badData, "the data is truncated")
    }
}
