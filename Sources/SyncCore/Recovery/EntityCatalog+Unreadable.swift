import SyncStorage
import SyncValues

extension EntityCatalog {
    /// The tables whose rows SQLite cannot read in this process, in the order of their names.
    ///
    /// - Throws: the error of SQLite.
    /// - Complexity: O(entities)
    func unreadable(on connection: OpaquePointer) throws -> [CaptureFinding] {
        try present.sorted { $0.name < $1.name }.compactMap { entity in
            try EntityRows.obstacle(to: entity, on: connection).map { reason in
                CaptureFinding(
                    entity: entity.id, table: entity.name, problem: .unreadable(reason))
            }
        }
    }
}

extension Tracker {
    /// As ``EntityCatalog/unreadable(on:)``.
    ///
    /// - Throws: as that; `busy`.
    func unreadableTables() throws -> [CaptureFinding] {
        try queue.read { database in
            let connection = try database.openConnection
            return try EntityCatalog(connection).unreadable(on: connection)
        }
    }
}
