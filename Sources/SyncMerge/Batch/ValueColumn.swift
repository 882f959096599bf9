import SyncValues

/// The values of one table column: tags, then the values of each kind together.
struct ValueColumn {
    private enum Tag: UInt8 { case null, integer, real, text, blob, reference }

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

    /// Reads the values of `count` rows.
    static func read(
        from reader: inout ByteReader, count: Int, tables: BatchTables
    ) throws -> [Field] {
        var tags = try reader.column()
        var integers = try reader.column()
        var reals = try reader.column()
        var lengths = try reader.column()
        var bytes = try reader.column()
        var objects = DeltaReader(try reader.column())
        var parts = try reader.column()
        var fields: [Field] = []
        fields.reserveCapacity(min(count, tags.remaining))
        for _ in 0..<count {
            switch Tag(rawValue: try tags.byte()) {
            case .null: fields.append(.value(.null))
            case .integer: fields.append(.value(.integer(try integers.signed())))
            case .real: fields.append(.value(.real(try real(&reals))))
            case .text:
                let length = try lengths.count(atMost: bytes.remaining)
                fields.append(.value(.text(try ByteReader.text(try bytes.raw(length)))))
            case .blob:
                let length = try lengths.count(atMost: bytes.remaining)
                fields.append(.value(.blob(Array(try bytes.raw(length)))))
            case .reference:
                let uid = tables.objects[try objects.index(below: tables.objects.count)]
                let part = try parts.count(atMost: BatchLimits.entitiesMax)
                fields.append(.reference(uid, part: part))
            case nil: throw SyncError(.badData, "unknown kind of value")
            }
        }
        for column in [tags, integers, reals, lengths, bytes, objects.reader, parts] {
            try column.finish()
        }
        return fields
    }

    private static func real(_ reader: inout ByteReader) throws -> Double {
        var pattern: UInt64 = 0
        for (index, byte) in try reader.raw(8).enumerated() {
            pattern |= UInt64(byte) << (8 * index)
        }
        let number = Double(bitPattern: pattern)
        guard !number.isNaN else { throw SyncError(.badData, "SQLite stores no NaN") }
        return number
    }
}
