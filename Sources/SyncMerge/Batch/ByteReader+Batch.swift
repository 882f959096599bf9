import SyncValues

/// Bounded reads for the batch's decoder.
extension ByteReader {
    /// Reads a count.
    /// - Throws: `badData` beyond `limit`: nothing was allocated for it yet.
    package mutating func count(atMost limit: Int) throws -> Int {
        let count = try varint()
        guard count <= UInt64(limit) else {
            throw SyncError(.badData, "\(count) is beyond the limit of \(limit)")
        }
        return Int(count)
    }

    /// Reads a count of items that take at least one byte each of what is left.
    /// - Throws: `badData` when the bytes end too soon, or beyond the limit.
    package mutating func countOfRest(atMost limit: Int) throws -> Int {
        try count(atMost: min(limit, remaining))
    }

    /// Reads bytes that follow their length.
    /// - Throws: `badData` when the bytes end too soon, or beyond the limit.
    package mutating func counted(atMost limit: Int) throws -> ArraySlice<UInt8> {
        try raw(try count(atMost: limit))
    }

    /// Reads a position in a list of `count` items.
    /// - Throws: `badData` for a position that is not in the list.
    package mutating func index(below count: Int) throws -> Int {
        let index = try varint()
        guard index < UInt64(count) else {
            throw SyncError(.badData, "there is no item \(index) among \(count)")
        }
        return Int(index)
    }

    /// Reads the cells that a change names. Most name those of the change before: then they are
    /// the same array.
    /// - Parameter limit: no cell is this one, or a later one.
    /// - Throws: `badData` for other cells, or when the bytes end too soon.
    package mutating func cells(
        _ count: Int, below limit: Int, after last: [Int]
    ) throws -> [Int] {
        var others: [Int]?
        for place in 0..<count {
            let cell = try index(below: limit)
            if others == nil, place >= last.count || last[place] != cell {
                others = Array(last.prefix(place))
            }
            others?.append(cell)
        }
        return others ?? (count == last.count ? last : Array(last.prefix(count)))
    }

    /// Reads text that follows its length.
    /// - Throws: `badData` when the bytes end too soon, beyond the limit, or for bytes that are not
    ///   UTF-8.
    package mutating func text(atMost limit: Int = BatchLimits.contentBytesMax) throws -> String {
        try Self.text(try counted(atMost: limit))
    }

    /// Text of bytes.
    /// - Throws: `badData` for bytes that are not UTF-8: repaired text would be another value.
    package static func text(_ bytes: ArraySlice<UInt8>) throws -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw SyncError(.badData, "text that is not UTF-8")
        }
        return text
    }

    /// Reads a column: bytes that follow their length, to be read to their end.
    /// - Throws: `badData` when the bytes end too soon, or beyond the limit.
    package mutating func column() throws -> ByteReader {
        ByteReader(Array(try counted(atMost: BatchLimits.contentBytesMax)))
    }

    /// Checks that everything was read.
    /// - Throws: `badData` when something is left.
    package func finish() throws {
        guard isAtEnd else { throw SyncError(.badData, "a column has a tail") }
    }
}
