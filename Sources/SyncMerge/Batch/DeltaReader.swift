import SyncValues

/// Reads what ``DeltaColumn`` wrote.
struct DeltaReader {
    private(set) var reader: ByteReader
    private var last: Int64 = 0

    init(_ reader: ByteReader) { self.reader = reader }

    mutating func next() throws -> Int64 {
        last = last &+ (try reader.signed())
        return last
    }

    /// Reads a position in a list of `count` items.
    mutating func index(below count: Int) throws -> Int {
        let index = try next()
        guard index >= 0, index < Int64(count) else {
            throw SyncError(.badData, "there is no item \(index) among \(count)")
        }
        return Int(index)
    }
}
