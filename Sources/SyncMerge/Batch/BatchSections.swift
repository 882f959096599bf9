import SyncValues

/// The end of the content of a signed batch whose flags say so: sections, each with its kind and
/// its length, in ascending order of the kinds. So a batch can have more than flags have bits for.
struct BatchSections {
    /// What a section has.
    private enum Kind: UInt8 {
        case schemas = 1
    }

    /// The schemas that replicas stated.
    private(set) var schemas: [SchemaRecord] = []

    /// Whether a batch needs none.
    static func isEmpty(_ batch: Batch) -> Bool { batch.schemas.isEmpty }

    /// Writes the sections that a batch needs, if any.
    static func write(_ batch: Batch, to content: inout ByteWriter) {
        guard !isEmpty(batch) else { return }
        var section = ByteWriter()
        SchemaColumns.write(batch.schemas, to: &section)
        content.append(varint: 1)
        content.append(byte: Kind.schemas.rawValue)
        content.append(counted: section.bytes)
    }

    /// - Throws: `badData`; `newerFormat` for a section that this code does not know.
    static func read(from reader: inout ByteReader) throws -> BatchSections {
        var sections = BatchSections()
        var last: UInt8 = 0
        for _ in 0..<(try reader.countOfRest(atMost: Int(UInt8.max))) {
            let number = try reader.byte()
            guard number > last else {
                throw SyncError(.badData, "the sections of a batch are not in order")
            }
            last = number
            var section = try reader.column()
            guard let kind = Kind(rawValue: number) else {
                throw SyncError(
                    .newerFormat,
                    "the batch has a section that this program does not know (\(number))",
                    hint: "Update syncd on this machine")
            }
            switch kind {
            case .schemas: sections.schemas = try SchemaColumns.read(from: &section)
            }
            try section.finish()
        }
        return sections
    }
}
