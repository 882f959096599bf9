import SyncValues

/// A column of numbers that mostly count up: each is written as the difference to the one before.
struct DeltaColumn {
    private(set) var writer = ByteWriter()
    private var last: Int64 = 0

    mutating func append(_ number: Int64) {
        writer.append(signed: number &- last)
        last = number
    }
}

/// Reads what ``DeltaColumn`` wrote.
struct DeltaReader {
    private(set) var reader: ByteReader
    private var last: Int64 = 0

    init(_ reader: ByteReader) { self.reader = reader }

    mutating func next() throws -> Int64 {
        last = last &+ (try reader.signed())
        return last
    }

    /// A position in a list of `count` things.
    mutating func index(below count: Int) throws -> Int {
        let index = try next()
        guard index >= 0, index < Int64(count) else {
            throw SyncError(.badData, "there is no item \(index) among \(count)")
        }
        return Int(index)
    }
}
