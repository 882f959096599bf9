import SyncStorage

extension Store {
    /// Looks at a database that is to be served, and changes nothing.
    /// - Parameters:
    ///   - choice: what was chosen for it.
    ///   - choosesKept: whether it was chosen what deleted rows keep.
    /// - Returns: whether it is tracked; the names of the user's tables; what it records otherwise
    ///   than was chosen, nil where it is not tracked.
    /// - Throws: ``SyncError``: why it cannot be served: `noSuchFile`, `notADatabase`,
    ///   `notAllowed`, `storeDamaged`, `newerFormat`.
    /// - Complexity: O(columns and indexes of the whole schema)
    package static func look(
        at path: String, comparing choice: CaptureChoice = CaptureChoice(),
        choosesKept: Bool = false
    ) throws -> (isTracked: Bool, tables: [String], difference: CaptureDifference?) {
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
                guard isTracked, let connection = database.sqliteConnection else {
                    return (isTracked, tables, nil)
                }
                let difference = try CaptureDifference(
                    choice, choosesKept: choosesKept, on: connection)
                return (isTracked, tables, difference)
            }
        }
    }
}
