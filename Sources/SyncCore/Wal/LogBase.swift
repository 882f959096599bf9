import SyncStorage

/// How far the log went at the beginning of the WAL's present generation: what the database file
/// says before the first checkpoint writes into it.
///
/// With it a reader that has just been made knows whether rows from before the WAL are among those
/// it has to assign.
struct LogBase {
    private let root: Statement
    private let schemaVersion: Statement
    /// Asked for here: the header of a wal-index without frames does not say it.
    private let pageSize: Statement
    private let connection: OpaquePointer
    private let table: String

    /// No b-tree of SQLite is deeper (BTCURSOR_MAX_DEPTH).
    private static let depthMax = 20

    init(_ connection: OpaquePointer, table: String) throws {
        self.connection = connection
        self.table = table
        root = try Statement(
            "SELECT rootpage FROM main.sqlite_schema WHERE type = 'table' AND name = "
                + SQLName.literal(table),
            on: connection)
        schemaVersion = try Statement("PRAGMA main.schema_version", on: connection)
        pageSize = try Statement("PRAGMA main.page_size", on: connection)
    }

    /// The log's greatest seq in the database file, 0 when the file has no log yet; nil when a
    /// checkpoint has begun, or the tables may have been moved since.
    func newest(_ index: WalIndex) throws -> Int64? {
        defer { for statement in [root, schemaVersion, pageSize] { statement.reset() } }
        guard index.isUntouchedByCheckpoints, try root.step(), try schemaVersion.step(),
            try pageSize.step(), let file = SQLiteFile.database(connection)
        else { return nil }
        let size = Int(pageSize.integer(0))
        var found = Self.lastRow(
            file, root: root.integer(0), schemaVersion: schemaVersion.integer(0), pageSize: size)
        // Tracked since: whatever is in the log came with the WAL.
        if found == nil, FileSchema(file, pageSize: size).lacks(table) == true { found = 0 }
        // A checkpoint that began meanwhile may have written any of the pages.
        return index.isUntouchedByCheckpoints ? found : nil
    }

    private static func lastRow(
        _ file: SQLiteFile, root: Int64, schemaVersion: Int64, pageSize: Int
    ) -> Int64? {
        withUnsafeTemporaryAllocation(byteCount: pageSize, alignment: 8) { buffer in
            let page = UnsafeRawBufferPointer(buffer)
            // The schema cookie changes whenever a root page moves: VACUUM, DROP, CREATE.
            guard file.read(into: buffer, at: 0),
                Int64(Int32(bitPattern: RecordReader.word32(page, at: 40))) == schemaVersion
            else { return nil }
            var number = root
            for _ in 0..<depthMax {
                guard number > 1, file.read(into: buffer, at: (number - 1) * Int64(pageSize))
                else { return nil }
                switch page[0] {
                case 0x05: number = Int64(RecordReader.word32(page, at: 8))
                case 0x0d: return LeafEnd.lastRow(of: page)
                default: return nil
                }
            }
            return nil
        }
    }
}
