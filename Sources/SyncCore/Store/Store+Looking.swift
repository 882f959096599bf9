import SyncStorage

extension Store {
    /// Looks at a database that is to be served, and changes nothing.
    /// - Returns: whether it is tracked; the names of the user's tables.
    /// - Throws: ``SyncError``: why it cannot be served: `noSuchFile`, `notADatabase`,
    ///   `notAllowed`, `storeDamaged`, `newerFormat`.
    /// - Complexity: O(columns and indexes of the whole schema)
    package static func look(
        at path: String
    ) throws -> (isTracked: Bool, tables: [String]) {
        try explaining("open", at: path) {
            let queue = try DatabaseOpener.open(path, for: .reading)
            defer { try? queue.close() }
            return try queue.read { database in
                var isTracked = true
                do {
                    try StoreDamage.requireReadable(database)
                } catch let error as SyncError where error.code == .notTracked {
                    isTracked = false
                }
                let tables = try SchemaReader(database).tables().filter { $0.kind == .table }
                    .map(\.name).filter { !$0.lowercased().hasPrefix("syncd_") }
                return (isTracked, tables)
            }
        }
    }
}
