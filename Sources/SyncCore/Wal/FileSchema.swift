import SyncStorage

/// The tables that the database file itself names, whatever the WAL says by now.
///
/// https://www.sqlite.org/fileformat2.html#storage_of_the_sql_database_schema
struct FileSchema {
    /// Where a table is.
    enum Place: Equatable {
        case root(Int64)
        /// There is none of that name.
        case missing
    }

    private let file: SQLiteFile
    private let pageSize: Int
    private let usableSize: Int
    private let encoding: UInt32

    private static let depthMax = 20
    private static let pagesMax = 10_000
    private static let leaf: UInt8 = 0x0d
    private static let interior: UInt8 = 0x05
    private static let headerBytes = 100

    /// - Returns: nil when the file has no header of a database with pages of this size.
    init?(_ file: SQLiteFile, pageSize: Int) {
        self.file = file
        self.pageSize = pageSize
        let found: (usableSize: Int, encoding: UInt32)? = withUnsafeTemporaryAllocation(
            byteCount: Self.headerBytes, alignment: 8
        ) { buffer in
            let header = UnsafeRawBufferPointer(buffer)
            guard file.read(into: buffer, at: 0) else { return nil }
            let size = RecordReader.word16(header, at: 16)
            guard size == pageSize || size == 1 && pageSize == 65_536 else { return nil }
            return (pageSize - Int(header[20]), RecordReader.word32(header, at: 56))
        }
        guard let found, found.usableSize >= 480 else { return nil }
        (usableSize, encoding) = found
    }

    /// Where the file has the table of this name; nil when that cannot be said.
    ///
    /// - Complexity: O(pages of the schema)
    func place(of name: String) -> Place? {
        guard let name = bytes(of: name), let type = bytes(of: "table") else { return nil }
        var pages: [(number: Int64, depth: Int)] = [(1, 0)]
        var readCount = 0
        while let (number, depth) = pages.popLast() {
            readCount += 1
            guard depth < Self.depthMax, readCount <= Self.pagesMax,
                let page = read(number, looking: (type, name))
            else { return nil }
            switch page {
            case .found(let root): return .root(root)
            case .leaf: continue
            case .interior(let children): pages += children.map { ($0, depth + 1) }
            }
        }
        return .missing
    }

    /// As the file has text; ASCII alone, so that a bit tells upper from lower case.
    private func bytes(of text: String) -> [UInt8]? {
        switch encoding {
        // 0: no table was made yet.
        case 0, 1: Array(text.utf8)
        case 2: text.utf8.flatMap { [$0, 0] }
        case 3: text.utf8.flatMap { [0, $0] }
        default: nil
        }
    }

    private enum Page {
        case found(Int64)
        case leaf
        case interior([Int64])
    }

    /// Reads a page of the schema's table; nil for one that is none.
    private func read(_ number: Int64, looking wanted: (type: [UInt8], name: [UInt8])) -> Page? {
        withUnsafeTemporaryAllocation(byteCount: pageSize, alignment: 8) { buffer in
            let page = UnsafeRawBufferPointer(buffer)
            guard number > 0, file.read(into: buffer, at: (number - 1) * Int64(pageSize)) else {
                return nil
            }
            let start = number == 1 ? Self.headerBytes : 0
            let isLeaf = page[start] == Self.leaf
            guard isLeaf || page[start] == Self.interior else { return nil }
            let slots = start + (isLeaf ? 8 : 12)
            let count = RecordReader.word16(page, at: start + 3)
            guard slots + 2 * count <= pageSize else { return nil }
            let cells = (0..<count).map { RecordReader.word16(page, at: slots + 2 * $0) }
            guard cells.allSatisfy({ $0 + 4 <= pageSize }) else { return nil }
            guard isLeaf else {
                let last = Int64(RecordReader.word32(page, at: start + 8))
                return .interior(
                    cells.map { Int64(RecordReader.word32(page, at: $0)) } + [last])
            }
            for cell in cells {
                guard let row = row(RecordReader(page, at: cell)) else { return nil }
                if Self.isEqual(row.name, wanted.name), Self.isEqual(row.type, wanted.type) {
                    return row.root.map(Page.found)
                }
            }
            return .leaf
        }
    }

    /// The columns `type`, `name` and `rootpage` of a row; a root that is not on this page is nil.
    private func row(
        _ cell: RecordReader
    ) -> (type: Slice<UnsafeRawBufferPointer>, name: Slice<UnsafeRawBufferPointer>, root: Int64?)? {
        var header = cell
        guard let size = header.varint(), size > 0, header.varint() != nil else { return nil }
        let start = header.offset
        let end = start + localBytes(size)
        guard end <= cell.bytes.count, let headerSize = header.varint(),
            0...Int64(end - start) ~= headerSize
        else { return nil }
        var sizes: [Int] = []
        for _ in 0..<3 {
            guard let type = header.varint(), type >= 13, type % 2 == 1, type < 1 << 30 else {
                return nil
            }
            sizes.append(Int(type - 13) / 2)
        }
        guard let rootType = header.varint() else { return nil }
        let name = start + Int(headerSize) + sizes[0]
        let root = name + sizes[1] + sizes[2]
        // Views and triggers have 0 or NULL there.
        let rootSizes: [Int64: Int] = [0: 0, 1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8, 8: 0, 9: 0]
        guard name + sizes[1] <= end, let rootSize = rootSizes[rootType] else { return nil }
        var number: Int64? = rootType == 9 ? 1 : 0
        if rootSize > 0 {
            var reader = RecordReader(cell.bytes, at: root)
            number = root + rootSize <= end ? reader.integer(rootSize) : nil
        }
        return (
            cell.bytes[name - sizes[0]..<name], cell.bytes[name..<name + sizes[1]], number
        )
    }

    /// How much of a record of `size` bytes is on its page.
    private func localBytes(_ size: Int64) -> Int {
        let most = usableSize - 35
        if size <= Int64(most) { return Int(size) }
        let least = (usableSize - 12) * 32 / 255 - 23
        let local = least + Int((size - Int64(least)) % Int64(usableSize - 4))
        return local <= most ? local : least
    }

    private static func isEqual(
        _ left: Slice<UnsafeRawBufferPointer>, _ right: [UInt8]
    ) -> Bool {
        left.count == right.count && zip(left, right).allSatisfy { $0 | 0x20 == $1 | 0x20 }
    }
}
