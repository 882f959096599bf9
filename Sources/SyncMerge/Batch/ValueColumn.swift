import SyncValues

/// Writes the values of one table column: tags, then the values of each kind together
/// (``ValueSpans`` reads them).
struct ValueColumn {
    private typealias Tag = ValueSpans.Tag

    private var tags = ByteWriter()
    private var integers = ByteWriter()
    private var reals = ByteWriter()
    private var lengths = ByteWriter()
    private var bytes = ByteWriter()
    private var objects = DeltaColumn()
    private var parts = ByteWriter()

    mutating func append(_ field: Field, tables: BatchTables) {
        switch field {
        case .value(.null): tags.append(byte: Tag.null.rawValue)
        case .value(.integer(let number)):
            tags.append(byte: Tag.integer.rawValue)
            integers.append(signed: number)
        case .value(.real(let number)):
            tags.append(byte: Tag.real.rawValue)
            reals.append(
                raw: (0..<8).map { UInt8(truncatingIfNeeded: number.bitPattern >> (8 * $0)) })
        case .value(.text(let text)):
            tags.append(byte: Tag.text.rawValue)
            lengths.append(varint: UInt64(text.utf8.count))
            bytes.append(raw: Array(text.utf8))
        case .value(.blob(let blob)):
            tags.append(byte: Tag.blob.rawValue)
            lengths.append(varint: UInt64(blob.count))
            bytes.append(raw: blob)
        case .reference(let uid, let part):
            tags.append(byte: Tag.reference.rawValue)
            objects.append(Int64(tables.place(of: uid)))
            parts.append(varint: UInt64(part))
        case .unstated: preconditionFailure("a part of a cell is sent as a cell of its own")
        }
    }

    /// Appends a value of a column in memory, without making one.
    /// - Parameter places: the position in the batch of each object of the column.
    mutating func append(_ spans: ValueSpans, _ row: Int, places: [Int32]) {
        let word = spans.words[row]
        let tag = spans.tags[row]
        tags.append(byte: tag.rawValue)
        switch tag {
        case .null: break
        case .integer: integers.append(signed: Int64(bitPattern: word))
        case .real: reals.append(bigEndian: word.byteSwapped)
        case .text, .blob:
            spans.bytes.withUnsafeBytes { all in
                let start = Int(word)
                let span = UnsafeRawBufferPointer(
                    rebasing: all[start..<start + Int(spans.lengths[row])])
                append(span, isText: tag == .text)
            }
        case .reference:
            objects.append(Int64(places[Int(word)]))
            parts.append(varint: UInt64(spans.lengths[row]))
        }
    }

    private mutating func append(_ span: UnsafeRawBufferPointer, isText: Bool) {
        let isPlain = !isText || span.reduce(UInt8(0), |) < 0x80
        if isPlain {
            lengths.append(varint: UInt64(span.count))
            return bytes.append(bytes: span)
        }
        // Bytes that are not UTF-8 are written as marks.
        let text = Array(String(textBytes: span).utf8)
        lengths.append(varint: UInt64(text.count))
        bytes.append(raw: text)
    }

    func write(to content: inout ByteWriter) {
        for column in [tags, integers, reals, lengths, bytes, objects.writer, parts] {
            content.append(counted: column.bytes)
        }
    }
}
