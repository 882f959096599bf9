import SyncValues

/// A row of the log as bytes of a table leaf.
///
/// https://www.sqlite.org/fileformat2.html#b_tree_pages and #record_format
enum LogCell {
    private static let valueCount = 7
    /// Reserved bytes at the end of a page, at most, and what a cell leaves free of it.
    private static let unusedBytes = 255 + 35

    /// The rows of `page` after `seq`, ascending, and the row before them; nil when the page is no
    /// table leaf, has no row up to `seq`, or one of these rows is not whole on the page or not
    /// what triggers write.
    static func rows(
        of page: UnsafeRawBufferPointer, after seq: Int64
    ) -> (previous: LogRow, rows: [LogRow])? {
        guard page[0] == 0x0d else { return nil }
        var rows: [LogRow] = []
        var slot = 8 + 2 * RecordReader.word16(page, at: 3)
        guard slot <= page.count else { return nil }
        while slot > 8 {
            slot -= 2
            var cell = RecordReader(page, at: RecordReader.word16(page, at: slot))
            guard let size = cell.varint(), let rowid = cell.varint() else { return nil }
            guard size > 0, size <= Int64(page.count - unusedBytes),
                cell.offset + Int(size) <= page.count,
                let row = row(
                    rowid,
                    UnsafeRawBufferPointer(
                        rebasing: page[cell.offset..<cell.offset + Int(size)]))
            else { return nil }
            if rowid <= seq {
                rows.reverse()
                return (row, rows)
            }
            rows.append(row)
        }
        return nil
    }

    private static func row(_ rowid: Int64, _ record: UnsafeRawBufferPointer) -> LogRow? {
        var header = RecordReader(record)
        guard let headerBytes = header.varint(), headerBytes <= Int64(record.count) else {
            return nil
        }
        var body = RecordReader(record, at: Int(headerBytes))
        func next() -> Value? {
            guard Int64(header.offset) < headerBytes, let type = header.varint() else { return nil }
            return value(type, &body)
        }
        // The rowid is stored as NULL in its column.
        guard next() == .null, case .integer(let op)? = next(), let m = next(), let time = next()
        else { return nil }
        var values: [Value] = []
        values.reserveCapacity(valueCount)
        while values.count < valueCount {
            guard let value = next() else { return nil }
            values.append(value)
        }
        guard Int64(header.offset) == headerBytes, let m = integer(m) else { return nil }
        switch time {
        case .null: return LogRow(seq: rowid, op: op, m: m, time: nil, values: values)
        case .real(let time): return LogRow(seq: rowid, op: op, m: m, time: time, values: values)
        case .integer(let time):
            // A REAL column stores whole numbers as integers.
            return LogRow(seq: rowid, op: op, m: m, time: Double(time), values: values)
        case .text, .blob: return nil
        }
    }

    private static func integer(_ value: Value) -> Int64? {
        switch value {
        case .integer(let value): value
        case .null: 0
        default: nil
        }
    }

    private static func value(_ type: Int64, _ body: inout RecordReader) -> Value? {
        switch type {
        case 0: return .null
        case 1...6: return body.integer([1, 2, 3, 4, 6, 8][Int(type) - 1]).map { .integer($0) }
        case 7:
            return body.integer(8).map { .real(Double(bitPattern: UInt64(bitPattern: $0))) }
        case 8, 9: return .integer(type - 8)
        case 12...:
            let count = Int((type - 12) / 2)
            guard count <= body.bytes.count - body.offset else { return nil }
            let bytes = body.bytes[body.offset..<body.offset + count]
            body.offset += count
            let isText = type % 2 == 1
            return isText ? .text(String(textBytes: bytes)) : .blob([UInt8](bytes))
        default: return nil
        }
    }
}
