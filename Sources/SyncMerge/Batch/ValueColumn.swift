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
        }
    }

    func write(to content: inout ByteWriter) {
        for column in [tags, integers, reals, lengths, bytes, objects.writer, parts] {
            content.append(counted: column.bytes)
        }
    }
}
