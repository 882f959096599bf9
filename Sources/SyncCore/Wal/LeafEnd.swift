/// The last row of a table leaf page: where the log ended when the page was written, if the page is
/// of the log.
struct LeafEnd {
    /// The row's rowid.
    let seq: Int64
    /// The beginning of the row's record, as bytes of ``WalScan/records``.
    let record: Range<Int>

    /// What is kept of a record at most; the rest proves nothing more.
    static let recordBytesMax = 512

    /// The wanted rows.
    struct Filter {
        /// Rows up to here are known.
        let after: Int64
        /// Rows after this one are not in the snapshot.
        let newest: Int64
        /// No row of the log has more columns.
        let columnCountMax: Int
    }

    /// The rowid and the local part of the record of the page's last row; nil when the page is no
    /// table leaf or its last row is none that `filter` wants.
    static func find(
        in page: UnsafeRawBufferPointer, _ filter: Filter
    ) -> (seq: Int64, record: UnsafeRawBufferPointer)? {
        guard page[0] == 0x0d, var cell = lastCell(of: page) else { return nil }
        guard let size = cell.varint(), let seq = cell.varint(), size > 0,
            seq > filter.after, seq <= filter.newest
        else { return nil }
        // A record that is longer goes on in overflow pages: this page has its beginning,
        // followed by a page number. The smallest local part of any such record is well above its
        // header.
        let local = size <= Int64(page.count - 35) ? Int(size) : smallestLocalBytes(page.count)
        let end = min(cell.offset + min(local, recordBytesMax), page.count)
        guard cell.offset < end else { return nil }
        let record = UnsafeRawBufferPointer(rebasing: page[cell.offset..<end])
        guard columnCount(record) <= filter.columnCountMax else { return nil }
        return (seq, record)
    }

    /// The last rowid of a table leaf; 0 when it is empty, nil when it makes no sense.
    static func lastRow(of page: UnsafeRawBufferPointer) -> Int64? {
        if RecordReader.word16(page, at: 3) == 0 { return 0 }
        guard var cell = lastCell(of: page), cell.varint() != nil else { return nil }
        return cell.varint()
    }

    private static func lastCell(of page: UnsafeRawBufferPointer) -> RecordReader? {
        let count = RecordReader.word16(page, at: 3)
        let slot = 8 + 2 * (count - 1)
        guard count > 0, slot + 2 <= page.count else { return nil }
        return RecordReader(page, at: RecordReader.word16(page, at: slot))
    }

    private static func smallestLocalBytes(_ pageSize: Int) -> Int {
        // Reserved bytes at the end of a page (255 at most) only make it smaller.
        max((pageSize - 255 - 12) * 32 / 255 - 23, 32)
    }

    private static func columnCount(_ record: UnsafeRawBufferPointer) -> Int {
        var header = RecordReader(record)
        guard let headerSize = header.varint(), headerSize <= Int64(record.count) else {
            return .max
        }
        var count = 0
        while Int64(header.offset) < headerSize {
            guard header.varint() != nil else { return .max }
            count += 1
        }
        return count
    }
}
