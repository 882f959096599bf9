import GRDB
import SyncCore
import SyncStorage

extension Store {
    /// Reads what synchronising begins with: replicas, entities, and each transaction with the list
    /// of what it changed; and whether the tables are still those that were synchronised. The
    /// records of single objects are not read, but for when each was written.
    /// - Returns: how many transactions are kept for others; nil: the store has not been
    ///   synchronised.
    /// - Throws: ``SyncError``: `corrupt`, `badData` for what cannot be read; `refused`,
    ///   `cannotTrack` for a table that stops each exchange; as ``open(_:)``.
    /// - Complexity: O(objects, and changes of these transactions)
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
                try requireExtents(connection)
                try requireRecordedTables(of: database)
                return count
            }
        }
    }

    /// Why the tables of a database stop each exchange.
    /// - Returns: nil: they do not, or the store has not been synchronised.
    /// - Throws: ``SyncError``: as ``open(_:)``.
    /// - Complexity: O(columns of the schema)
    package static func obstacle(inTablesOf path: String) throws -> SyncError? {
        try explaining("check", at: path) {
            let queue = try DatabaseOpener.open(path, for: .reading)
            defer { try? queue.close() }
            do {
                try queue.read(requireRecordedTables)
                return nil
            } catch let error as SyncError where [.refused, .cannotTrack].contains(error.code) {
                return error
            }
        }
    }

    /// Records for other replicas what history alone has, where the store is synchronised: before a
    /// change of the schema, which may take values with it.
    /// - Returns: why nothing was recorded: the tables stop each exchange, and the change may be
    ///   what makes them right. Nil: nothing is left to record.
    /// - Throws: ``SyncError``: as ``open(_:)``, ``StoreReplica/recordChanges()``.
    /// - Complexity: O(changes)
    package static func recordBeforeSchemaChange(_ path: String) throws -> SyncError? {
        let store = try Store.open(path)
        defer { try? store.close() }
        guard try store.hasUnrecordedChanges() else { return nil }
        do {
            let replica = try StoreReplica(path)
            defer { try? replica.close() }
            try replica.recordChanges()
            return nil
        } catch let error as SyncError where [.refused, .cannotTrack].contains(error.code) {
            return error
        }
    }

    /// Runs statements that change the schema, as ``alter(_:running:)``, and refuses those after
    /// which the store could not be synchronised any more.
    /// - Throws: as ``alter(_:running:)``; `refused`, `cannotTrack`, and then nothing has changed.
    @discardableResult
    package static func alterSynchronised(
        _ path: String, running sql: String
    ) throws -> [CaptureFinding] {
        // Statements that make it right, one after the other, are not refused.
        if try obstacle(inTablesOf: path) != nil { return try alter(path, running: sql) }
        return try alter(path, running: sql) { database in
            do {
                try requireRecordedTables(of: database)
            } catch var error as SyncError where [.refused, .cannotTrack].contains(error.code) {
                error.reason += ", and nothing could be synchronised any more"
                error.hint =
                    "Nothing was changed. A synchronised table keeps its primary key, and the "
                    + "tables that it refers to: leave them, and make a new table for what is new"
                throw error
            }
        }
    }

    private static func requireExtents(_ connection: OpaquePointer) throws {
        guard try Metadata(connection).uses(.extents),
            try SchemaReader.hasTable("syncd_extent", on: connection),
            try ObjectExtents.uncovered(on: connection) != nil
        else { return }
        throw SyncError(
            .corrupt, "syncd_extent does not name everything that was written",
            hint: "Run: synctool doctor DB --mend")
    }

    private static func requireRecordedTables(of database: Database) throws {
        let connection = try database.openConnection
        guard try SchemaReader.hasTable("syncd_header", on: connection) else { return }
        let settings = Metadata(connection)
        let tables = try EntityTable.liveTables(of: database)
        try RecordedTables(connection, settings: settings).require(
            ReplicaSchema(
                tables, names: NameStorage(connection).bound(tables).names,
                policies: MergePolicies(storedIn: settings)))
    }
}
