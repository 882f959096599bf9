import CSQLite
import SyncStorage

/// The rows of the log in the connection's snapshot, for comparing with what a WAL frame holds.
///
/// A page that was committed with row *r* of the log as its last row proves that *r* was in the
/// database at that commit. Rows of the log never change, so a record that is equal to row *r* of
/// the snapshot **is** that row: no knowledge of root pages, interior pages or earlier versions is
/// needed, and neither VACUUM nor a checkpoint matters. A copy of the log in another table cannot
/// mislead: a copy is never committed before its original.
struct LogRows {
    private let newestRow: Statement
    private let row: Statement
    /// How many columns a row has.
    let columnCount: Int

    init(_ connection: OpaquePointer, table: String) throws {
        newestRow = try Statement(
            "SELECT max(seq) FROM main.\(SQLName.quoted(table))", on: connection)
        row = try Statement(
            "SELECT * FROM main.\(SQLName.quoted(table)) WHERE seq = ?", on: connection)
        columnCount = Int(row.columnCount)
    }

    /// The greatest seq; 0 when the log is empty.
    func newest() throws -> Int64 {
        defer { newestRow.reset() }
        return try newestRow.step() ? newestRow.integer(0) : 0
    }

    /// Whether row `seq` begins with `record`.
    func contains(_ seq: Int64, beginningWith record: UnsafeRawBufferPointer) throws -> Bool {
        row.bind(seq, at: 1)
        guard try row.step() else { return false }
        defer { row.reset() }
        var header = RecordReader(record)
        guard let headerSize = header.varint(), headerSize <= Int64(record.count) else {
            return false
        }
        var body = RecordReader(record, at: Int(headerSize))
        var column: Int32 = 0
        while header.offset < Int(headerSize) {
            guard let type = header.varint(), column < columnCount else { return false }
            switch compare(column: column, type: type, with: &body) {
            case .equal: column += 1
            case .different: return false
            case .beyond: return true
            }
        }
        // A row of the log has all its columns. A shorter one is of another table.
        return column == columnCount
    }

    private enum Comparison {
        case equal, different
        /// The record goes on in pages that are not here.
        case beyond
    }

    private func compare(
        column: Int32, type: Int64, with body: inout RecordReader
    ) -> Comparison {
        switch type {
        case 0:
            // The rowid is stored as NULL in its column.
            return column == 0 || row.isNull(column) ? .equal : .different
        case 1...6:
            guard let value = body.integer([1, 2, 3, 4, 6, 8][Int(type) - 1]) else {
                return .beyond
            }
            return equals(column: column, value: value)
        case 7:
            guard let bits = body.integer(8) else { return .beyond }
            let value = Double(bitPattern: UInt64(bitPattern: bits))
            return sqlite3_column_type(row.handle, column) == SQLITE_FLOAT
                && row.real(column) == value ? .equal : .different
        case 8, 9: return equals(column: column, value: type - 8)
        case 12...: return compareBytes(column: column, type: type, with: &body)
        default: return .different
        }
    }

    private func equals(column: Int32, value: Int64) -> Comparison {
        switch sqlite3_column_type(row.handle, column) {
        case SQLITE_INTEGER: row.integer(column) == value ? .equal : .different
        // A REAL column stores whole numbers as integers.
        case SQLITE_FLOAT: row.real(column) == Double(value) ? .equal : .different
        default: .different
        }
    }

    private func compareBytes(
        column: Int32, type: Int64, with body: inout RecordReader
    ) -> Comparison {
        let isText = type % 2 == 1
        let count = Int((type - 12) / 2)
        guard
            sqlite3_column_type(row.handle, column) == (isText ? SQLITE_TEXT : SQLITE_BLOB)
        else { return .different }
        let available = min(count, body.bytes.count - body.offset)
        // Asking a blob for its bytes never converts; asking text for them gives UTF-8, which the
        // record holds unless the database is UTF-16: then the lengths differ, and the other
        // columns must do.
        let bytes = sqlite3_column_blob(row.handle, column)
        if Int(sqlite3_column_bytes(row.handle, column)) == count, let bytes {
            let own = UnsafeRawBufferPointer(start: bytes, count: available)
            let other = body.bytes[body.offset..<body.offset + available]
            guard own.elementsEqual(other) else { return .different }
        } else if !isText {
            return count == 0 ? .equal : .different
        }
        body.offset += available
        return available < count ? .beyond : .equal
    }
}
