extension ByteWriter {
    /// The sixteen bytes of an identifier.
    @inlinable package mutating func append(_ identifier: some Identifier) {
        append(bigEndian: identifier.high)
        append(bigEndian: identifier.low)
    }
}

extension ByteReader {
    /// An identifier of sixteen bytes.
    /// - Throws: `badData`.
    @inlinable package mutating func identifier<Name: Identifier>(
        _ type: Name.Type = Name.self
    ) throws -> Name {
        Name(high: try bigEndian(), low: try bigEndian())
    }
}
