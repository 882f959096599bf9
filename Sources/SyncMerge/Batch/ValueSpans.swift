import SyncValues

/// The values of one column of a batch as flat arrays: no value is an object of its own.
package struct ValueSpans: Sendable {
    /// The kind of a value, as the batch format numbers it.
    package enum Tag: UInt8, Sendable { case null, integer, real, text, blob, reference }

    /// By row.
    package private(set) var tags: [Tag] = []
    /// By row: an integer, the bits of a real, where text or a blob begins in ``bytes``, or the
    /// position of the object that is referred to.
    package private(set) var words: [UInt64] = []
    /// By row: the count of bytes, or the key column that is referred to.
    package private(set) var lengths: [Int32] = []
    /// All text and blobs, text as SQLite stores it.
    package private(set) var bytes: [UInt8] = []
    /// Whether a value is a reference.
    package private(set) var hasReferences = false

    /// No values.
    package init() {}

    /// Reads the values of `count` rows.
    /// - Parameter objectCount: how many objects the batch names.
    /// - Throws: `badData`.
    init(from reader: inout ByteReader, count: Int, objectCount: Int) throws {
        var tags = try reader.column()
        var integers = try reader.column()
        var reals = try reader.column()
        var lengths = try reader.column()
        var all = Array(try reader.counted(atMost: BatchLimits.contentBytesMax))
        var bytes = ByteReader(all)
        var objects = DeltaReader(try reader.column())
        var parts = try reader.column()
        guard count <= tags.remaining else {
            throw SyncError(.badData, "a column ends too soon")
        }
        self.tags.reserveCapacity(count)
        words.reserveCapacity(count)
        self.lengths.reserveCapacity(count)
        for _ in 0..<count {
            guard let tag = Tag(rawValue: try tags.byte()) else {
                throw SyncError(.badData, "unknown kind of value")
            }
            var (word, length) = (UInt64(0), 0)
            switch tag {
            case .null: break
            case .integer: word = UInt64(bitPattern: try integers.signed())
            case .real: word = try Self.real(&reals)
            case .text, .blob:
                length = try lengths.count(atMost: bytes.remaining)
                word = UInt64(bytes.position)
                let span = try bytes.raw(length)
                if tag == .text, let stored = try Self.storedText(span) {
                    word = UInt64(all.count)
                    length = stored.count
                    all += stored
                }
            case .reference:
                hasReferences = true
                word = UInt64(try objects.index(below: objectCount))
                length = try parts.count(atMost: BatchLimits.entitiesMax)
            }
            self.tags.append(tag)
            words.append(word)
            self.lengths.append(Int32(length))
        }
        for column in [tags, integers, reals, lengths, bytes, objects.reader, parts] {
            try column.finish()
        }
        self.bytes = all
    }

    private static func real(_ reader: inout ByteReader) throws -> UInt64 {
        var pattern: UInt64 = 0
        for (index, byte) in try reader.raw(8).enumerated() {
            pattern |= UInt64(byte) << (8 * index)
        }
        guard !Double(bitPattern: pattern).isNaN else {
            throw SyncError(.badData, "SQLite stores no NaN")
        }
        return pattern
    }

    /// What SQLite stores for the text of a batch, where that is something else: bytes that are not
    /// UTF-8 are written as marks (`String.textBytes`), which begin with the byte F4.
    /// - Throws: `badData` for bytes that are not UTF-8.
    private static func storedText(_ bytes: ArraySlice<UInt8>) throws -> [UInt8]? {
        let isASCII = bytes.withUnsafeBufferPointer { $0.reduce(UInt8(0), |) < 0x80 }
        if isASCII { return nil }
        let text = try ByteReader.text(bytes)
        return bytes.contains(0xF4) ? text.textBytes : nil
    }

    // MARK: Collecting

    /// Appends NULL.
    package mutating func appendNull() { append(.null, 0, 0) }

    /// Appends an integer.
    package mutating func append(integer: Int64) {
        append(.integer, UInt64(bitPattern: integer), 0)
    }

    /// Appends a real of these bits.
    package mutating func append(real bits: UInt64) { append(.real, bits, 0) }

    /// Appends text as SQLite stores it, or a blob.
    package mutating func append(_ span: UnsafeRawBufferPointer, isText: Bool) {
        append(isText ? .text : .blob, UInt64(bytes.count), Int32(span.count))
        span.withMemoryRebound(to: UInt8.self) { bytes.append(contentsOf: $0) }
    }

    /// Appends a reference.
    /// - Parameters:
    ///   - object: the position of the object.
    ///   - part: the key column that is referred to.
    package mutating func append(object: Int32, part: Int32) {
        hasReferences = true
        append(.reference, UInt64(object), part)
    }

    private mutating func append(_ tag: Tag, _ word: UInt64, _ length: Int32) {
        tags.append(tag)
        words.append(word)
        lengths.append(length)
    }

    // MARK: Values

    /// Whether a value is a state, or is escaped because it begins as one (``BlendCoding``).
    package func isState(at row: Int) -> Bool {
        guard tags[row] == .blob else { return false }
        let start = Int(words[row])
        return bytes.withUnsafeBytes {
            BlendCoding.escapes(
                UnsafeRawBufferPointer(rebasing: $0[start..<start + Int(lengths[row])]))
        }
    }

    /// A value as an object.
    /// - Parameter objects: those of the batch.
    package func field(_ row: Int, objects: [ObjectUID]) -> Field {
        switch tags[row] {
        case .null: return .value(.null)
        case .integer: return .value(.integer(Int64(bitPattern: words[row])))
        case .real: return .value(.real(Double(bitPattern: words[row])))
        case .text: return .value(.text(String(textBytes: span(row))))
        case .blob: return .value(.blob(Array(span(row))))
        case .reference: return .reference(objects[Int(words[row])], part: Int(lengths[row]))
        }
    }

    private func span(_ row: Int) -> ArraySlice<UInt8> {
        let start = Int(words[row])
        return bytes[start..<start + Int(lengths[row])]
    }
}
