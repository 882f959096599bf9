import CSQLite
import SyncStorage

/// Where the log ended before the first commit of the WAL: what is in the database file alone. For
/// a reader that finds a WAL with commits in it, so that the first of them is told from what was
/// before.
///
/// The file says by its own schema where its log is. That it is the same log is proved by the last
/// row, which never changes.
///
/// The connection has no other descriptor on the file: see ``SQLiteFile``.
struct LogBase {
    private let rows: LogRows
    /// Asked for here: the header of a wal-index without frames does not say it.
    private let pageSize: Statement
    private let connection: OpaquePointer
    private let table: String

    /// No b-tree of SQLite is deeper (BTCURSOR_MAX_DEPTH).
    private static let depthMax = 20

    init(_ connection: OpaquePointer, table: String, rows: LogRows) throws {
        self.connection = connection
        self.table = table
        self.rows = rows
        pageSize = try Statement("PRAGMA main.page_size", on: connection)
    }

    /// The log's greatest seq in the database file, 0 when the file has none; nil when a checkpoint
    /// has begun, or the log was made once more since.
    ///
    /// - Parameter filter: what is looked for. Where the file's last row is not after the rows that
    ///   are known, which row it is makes no difference: it may have been deleted since.
    func newest(_ index: WalIndex, _ filter: LeafEnd.Filter) throws -> Int64? {
        defer { pageSize.reset() }
        guard index.isUntouchedByCheckpoints, try pageSize.step(),
            let file = SQLiteFile.database(connection)
        else { return nil }
        let size = Int(pageSize.integer(0))
        let found: Int64?
        switch FileSchema(file, pageSize: size)?.place(of: table) {
        // Tracked since: whatever is in the log came with the WAL.
        case .missing?: found = 0
        case .root(let root)?: found = try lastRow(file, root: root, pageSize: size, filter)
        case nil: found = nil
        }
        // A checkpoint that began meanwhile may have written any of the pages.
        return index.isUntouchedByCheckpoints ? found : nil
    }

    private func lastRow(
        _ file: SQLiteFile, root: Int64, pageSize: Int, _ filter: LeafEnd.Filter
    ) throws -> Int64? {
        try withUnsafeTemporaryAllocation(byteCount: pageSize, alignment: 8) { buffer in
            let page = UnsafeRawBufferPointer(buffer)
            var number = root
            for _ in 0..<Self.depthMax {
                guard number > 1, file.read(into: buffer, at: (number - 1) * Int64(pageSize))
                else { return nil }
                switch page[0] {
                case 0x05: number = Int64(RecordReader.word32(page, at: 8))
                case 0x0d: return try lastRow(of: page, filter)
                default: return nil
                }
            }
            return nil
        }
    }

    private func lastRow(
        of page: UnsafeRawBufferPointer, _ filter: LeafEnd.Filter
    ) throws -> Int64? {
        guard let last = LeafEnd.lastRow(of: page), last > filter.after else {
            return LeafEnd.lastRow(of: page)
        }
        guard let (seq, record) = LeafEnd.find(in: page, filter),
            try rows.contains(seq, beginningWith: record)
        else { return nil }
        return seq
    }
}
