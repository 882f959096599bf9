import SyncStorage

extension Store {
    /// The tables with rows that a store cannot record.
    /// - Throws: ``SyncError``: as ``open(_:)``.
    /// - Complexity: O(columns of the schema)
    public static func unrecordedTables(_ path: String) throws -> [UnrecordedTable] {
        try explaining("check", at: path) {
            let queue = try DatabaseOpener.open(path, for: .reading)
            defer { try? queue.close() }
            return try queue.read(UnrecordedTable.all(in:))
        }
    }
}
