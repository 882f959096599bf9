import GRDB

extension Store {
    /// Makes a database that was tracked apart a replica of another store, by key: rows with equal
    /// keys are the same object from then on.
    ///
    /// Its own history is dropped, and with it the consumers: transactions of another store cannot
    /// be told of in this one. The tables stay as they are; where they differ from the other
    /// replicas', the first merge settles it like concurrent edits, with the losers in the conflict
    /// log.
    /// - Returns: how many transactions were dropped.
    /// - Throws: ``SyncError``: `refused` when it has exchanged batches already; as ``track``.
    package static func join(_ path: String, to store: StoreID) throws -> Int {
        let dropped: Int
        let layouts: [String: CaptureOptions]
        do {
            let opened = try Store.open(path)
            defer { try? opened.close() }
            guard opened.id != store else { return 0 }
            dropped = try opened.count(HistoryQuery()).transactions
            layouts = try opened.live.withState { connection, live in
                guard try !hasTable(connection, "syncd_object") else {
                    throw SyncError(
                        .refused, "the database has replicas of its own already",
                        operation: "join", path: path,
                        hint: "Join one that was never pushed or pulled, or clone: "
                            + "synctool clone URL NEWFILE")
                }
                return Dictionary(
                    live.catalog.present.map { ($0.name, $0.layout.options()) },
                    uniquingKeysWith: { first, _ in first })
            }
        }
        return try explaining(path, "join") {
            try untrack(path)
            try track(path, entities: .only(layouts.keys.sorted()), options: layouts)
            let queue = try StoreConnection.openQueue(path)
            try queue.writeWithoutTransaction { database in
                guard let connection = database.sqliteConnection else { return }
                try RawTransaction.write(connection) {
                    try Settings(connection).set(.store, .blob(store.bytes))
                }
            }
            try queue.close()
            return dropped
        }
    }
}
