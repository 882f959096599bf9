/// Reads the varints and big-endian words of b-tree pages and records; nil past the end, never a
/// trap.
///
/// https://www.sqlite.org/fileformat2.html#b_tree_pages and #record_format
struct RecordReader {
    let bytes: UnsafeRawBufferPointer
    var offset: Int

    init(_ bytes: UnsafeRawBufferPointer, at offset: Int = 0) {
        self.bytes = bytes
        self.offset = offset
    }

    mutating func varint() -> Int64? {
        var value: UInt64 = 0
        for index in 0..<9 {
            guard offset < bytes.count else { return nil }
            let byte = bytes[offset]
            offset += 1
            if index == 8 { return Int64(bitPattern: value << 8 | UInt64(byte)) }
            value = value << 7 | UInt64(byte & 0x7f)
            if byte & 0x80 == 0 { return Int64(bitPattern: value) }
        }
        return nil
    }

    /// A signed big-endian integer of `count` bytes.
    mutating func integer(_ count: Int) -> Int64? {
        guard offset + count <= bytes.count, count > 0 else { return nil }
        var value = Int64(Int8(bitPattern: bytes[offset]))
        for index in 1..<max(count, 1) where count > 1 {
            value = value << 8 | Int64(bytes[offset + index])
        }
        offset += count
        return value
    }

    static func word16(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> Int {
        Int(bytes[offset]) << 8 | Int(bytes[offset + 1])
    }

    static func word32(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> UInt32 {
        UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }
}
