import SyncCore
import SyncStorage

extension Store {
    /// Reads what synchronising begins with: replicas, entities, and each transaction with the list
    /// of what it changed; and whether the tables are still those that were synchronised. The
    /// records of single objects are not read.
    /// - Returns: how many transactions are kept for others; nil: the store has not been
    ///   synchronised.
    /// - Throws: ``SyncError``: `corrupt`, `badData` for what cannot be read; `refused`,
    ///   `cannotTrack` for a table that stops each exchange; as ``open(_:)``.
    /// - Complexity: O(changes of these transactions)
    package static func checkRecord(_ path: String) throws -> Int? {
        try explaining("check", at: path) {
            let queue = try DatabaseOpener.open(path, for: .reading)
            defer { try? queue.close() }
            return try queue.read { database in
                let connection = try database.openConnection
                guard try SchemaReader.hasTable("syncd_header", on: connection) else { return nil }
                try Shapes.checkAll(connection)
                let headers = try HeaderStorage(connection, replicas: ReplicaNames(connection))
                _ = try headers.newestPlace()
                _ = try headers.vector()
                var count = 0
                try headers.forEach(after: .min) { _, _, details in
                    try HeaderDetails.forEachChange(in: details) { _ in }
                    count += 1
                }
                let settings = Metadata(connection)
                let tables = try EntityTable.liveTables(of: database)
                try RecordedTables(connection, settings: settings).require(
                    ReplicaSchema(
                        tables, names: NameStorage(connection).bound(tables).names,
                        policies: MergePolicies(storedIn: settings)))
                return count
            }
        }
    }
}
