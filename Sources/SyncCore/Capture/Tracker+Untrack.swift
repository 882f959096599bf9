import GRDB
import SyncStorage
import SyncValues

extension Tracker {
    /// Ends the recording. With `.all` every trace goes, history too, also when only a rest of it
    /// is left; otherwise the triggers of the named entities go, and their history stays.
    ///
    /// - Returns: what has a name like ours and stays, because syncd did not make it.
    /// - Throws: `notTracked`, `unknownEntity`, `newerFormat`, `busy`; `storeDamaged` for single
    ///   entities of a store whose tables are missing.
    @discardableResult
    package func untrack(entities: EntityFilter = .all) throws -> UntrackReport {
        try write("untrack") { db in
            guard entities != .all else { return try dropEverything(db) }
            try StoreDamage.requireReadable(db)
            _ = try Migration.requireNoneRunning(in: db)
            let live = try EntityTable(db).live()
            if case .only(let names) = entities {
                for name in names
                where !live.contains(where: { SQLName.isEqual($0.name, to: name) }) {
                    throw SyncError(
                        .unknownEntity, "\(name) is not tracked",
                        hint: "List the tracked tables: synctool status DB")
                }
            }
            for entity in live where entities.includes(entity.name) {
                try dropTriggers(db, of: entity.id)
                try EntityTable(db).retire(entity)
            }
            try rememberSchema(db)
            return UntrackReport()
        }
    }

    @discardableResult
    func dropEverything(_ db: Database) throws -> UntrackReport {
        try Metadata(db).requireKnownFormat()
        let objects = try StoreObjects(db)
        guard !objects.own.isEmpty else { throw Metadata.notTracked }
        if try Metadata(db).exists() { _ = try Migration.requireNoneRunning(in: db) }
        try objects.dropOwn(db)
        return UntrackReport(leftAlone: objects.foreign.map(\.description))
    }

    func dropTriggers(_ db: Database, of entity: Int64) throws {
        for name in try PresentTrigger.all(db).filter({ $0.entity == entity }).map(\.name) {
            try db.execute(sql: "DROP TRIGGER main.\(SQLName.quoted(name))")
        }
    }
}
