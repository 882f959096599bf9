import SyncValues

/// Bounded reads for the batch's decoder.
extension ByteReader {
    /// A number of things.
    /// - Throws: `badData` beyond `limit`: nothing was allocated for it yet.
    package mutating func count(atMost limit: Int) throws -> Int {
        let count = try varint()
        guard count <= UInt64(limit) else {
            throw SyncError(.badData, "\(count) is beyond the limit of \(limit)")
        }
        return Int(count)
    }

    /// A number of things of which each takes at least one byte of what is left.
    package mutating func countOfRest(atMost limit: Int) throws -> Int {
        try count(atMost: min(limit, remaining))
    }

    /// Bytes behind their length.
    package mutating func counted(atMost limit: Int) throws -> ArraySlice<UInt8> {
        try raw(try count(atMost: limit))
    }

    /// A position in a list of `count` things.
    package mutating func index(below count: Int) throws -> Int {
        let index = try varint()
        guard index < UInt64(count) else {
            throw SyncError(.badData, "there is no item \(index) among \(count)")
        }
        return Int(index)
    }

    /// Sixteen bytes that name something.
    package mutating func identifier<Name>(_ make: ([UInt8]) -> Name?) throws -> Name {
        guard let name = make(Array(try raw(16))) else {
            throw SyncError(.badData, "an identifier has 16 bytes")
        }
        return name
    }

    /// Text behind its length.
    package mutating func text(atMost limit: Int = BatchLimits.contentBytesMax) throws -> String {
        try Self.text(try counted(atMost: limit))
    }

    /// - Throws: `badData` for bytes that are not UTF-8: repaired text would be another value.
    package static func text(_ bytes: ArraySlice<UInt8>) throws -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw SyncError(.badData, "text that is not UTF-8")
        }
        return text
    }

    /// A column: bytes behind their length, to be read to their end.
    package mutating func column() throws -> ByteReader {
        ByteReader(Array(try counted(atMost: BatchLimits.contentBytesMax)))
    }

    /// - Throws: `badData` when something is left.
    package func finish() throws {
        guard isAtEnd else { throw SyncError(.badData, "a column has a tail") }
    }
}
