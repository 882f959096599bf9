import GRDB

extension Tracker {
    /// Ends the recording. With `.all` every trace goes, history too; otherwise the triggers of the
    /// named entities go, and their history stays.
    /// - Throws: `notTracked`, `unknownEntity`, `newerFormat`, `busy`.
    public func untrack(entities: EntityFilter = .all) throws {
        try write("untrack") { db in
            try StoreMeta.requireReadable(db)
            guard entities != .all else { return try dropEverything(db) }
            let live = try Entity.live(db)
            if case .only(let names) = entities {
                for name in names where !live.contains(where: { SQLName.equal($0.name, name) }) {
                    throw SyncError(
                        .unknownEntity, "\(name) is not tracked", hint: "Run: synctool status FILE")
                }
            }
            for entity in live where entities.includes(entity.name) {
                try dropTriggers(db, of: entity.id)
                try entity.retire(db)
            }
            try rememberSchema(db)
        }
    }

    private func dropEverything(_ db: Database) throws {
        for (type, name) in try StoreSchema.objects(db) {
            try db.execute(sql: "DROP \(type.uppercased()) IF EXISTS \(SQLName.quoted(name))")
        }
    }

    func dropTriggers(_ db: Database, of entity: Int64) throws {
        for name in try PresentTrigger.all(db).filter({ $0.entity == entity }).map(\.name) {
            try db.execute(sql: "DROP TRIGGER \(SQLName.quoted(name))")
        }
    }
}
