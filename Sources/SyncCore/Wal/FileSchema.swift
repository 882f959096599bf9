import SyncStorage

/// The tables that the database file itself names, whatever the WAL says by now.
///
/// https://www.sqlite.org/fileformat2.html#storage_of_the_sql_database_schema
struct FileSchema {
    private let file: SQLiteFile
    private let pageSize: Int

    private static let depthMax = 20
    private static let pagesMax = 10_000
    private static let leaf: UInt8 = 0x0d
    private static let interior: UInt8 = 0x05
    /// UTF-8, or 0: no table was made yet.
    private static let encodings: ClosedRange<UInt32> = 0...1

    init(_ file: SQLiteFile, pageSize: Int) {
        self.file = file
        self.pageSize = pageSize
    }

    /// Whether the file has no object of this name; nil when that cannot be said.
    ///
    /// - Complexity: O(pages of the schema)
    func lacks(_ name: String) -> Bool? {
        var pages: [(number: Int64, depth: Int)] = [(1, 0)]
        var readCount = 0
        while let (number, depth) = pages.popLast() {
            readCount += 1
            guard depth < Self.depthMax, readCount <= Self.pagesMax,
                let children = read(number, looking: name)
            else { return nil }
            if children.isFound { return false }
            pages += children.numbers.map { ($0, depth + 1) }
        }
        return true
    }

    private typealias Page = (isFound: Bool, numbers: [Int64])

    /// Whether a page has the name, and the pages below it; nil for one that is no page of a table.
    private func read(_ number: Int64, looking name: String) -> Page? {
        withUnsafeTemporaryAllocation(byteCount: pageSize, alignment: 8) { buffer in
            let page = UnsafeRawBufferPointer(buffer)
            guard number > 0, file.read(into: buffer, at: (number - 1) * Int64(pageSize)) else {
                return nil
            }
            let start = number == 1 ? 100 : 0
            if number == 1, !Self.encodings.contains(RecordReader.word32(page, at: 56)) {
                return nil
            }
            let isLeaf = page[start] == Self.leaf
            guard isLeaf || page[start] == Self.interior else { return nil }
            let slots = start + (isLeaf ? 8 : 12)
            let count = RecordReader.word16(page, at: start + 3)
            guard slots + 2 * count <= pageSize else { return nil }
            let cells = (0..<count).map { RecordReader.word16(page, at: slots + 2 * $0) }
            guard cells.allSatisfy({ $0 + 4 <= pageSize }) else { return nil }
            if isLeaf {
                var isFound = false
                for cell in cells {
                    guard let isNamed = Self.isNamed(name, cell: RecordReader(page, at: cell))
                    else { return nil }
                    isFound = isFound || isNamed
                }
                return (isFound, [])
            }
            let last = Int64(RecordReader.word32(page, at: start + 8))
            return (false, cells.map { Int64(RecordReader.word32(page, at: $0)) } + [last])
        }
    }

    /// Whether the second column of a record, `name`, is this one: the first bytes of a record are
    /// never on an overflow page.
    private static func isNamed(_ name: String, cell: RecordReader) -> Bool? {
        var reader = cell
        guard reader.varint() != nil, reader.varint() != nil else { return nil }
        let start = reader.offset
        guard let headerSize = reader.varint(), let type = reader.varint(),
            let text = reader.varint(), let typeSize = textSize(type), let size = textSize(text),
            0...Int64(reader.bytes.count) ~= headerSize
        else { return nil }
        guard size == name.utf8.count else { return false }
        let offset = start + Int(headerSize) + typeSize
        guard offset + size <= reader.bytes.count else { return nil }
        return zip(reader.bytes[offset..<offset + size], name.utf8).allSatisfy {
            $0 | 0x20 == $1 | 0x20
        }
    }

    /// The bytes of a text column, by its serial type; nil for any other.
    private static func textSize(_ serialType: Int64) -> Int? {
        guard serialType >= 13, serialType % 2 == 1, serialType < 1 << 30 else { return nil }
        return Int(serialType - 13) / 2
    }
}
