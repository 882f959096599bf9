import SyncMerge

extension StoreReplica {
    /// The changes that this replica has merged and cannot show, because its schema has no place
    /// for them, in the order of the tables' names.
    /// - Throws: ``SyncError``: `busy`, and SQLite errors.
    /// - Complexity: O(waiting facts)
    public var waiting: [WaitingChanges] {
        get throws {
            try run("waiting") { session in
                try session.transact {
                    try WaitingFacts($0.storage).changes()
                }
            }
        }
    }

    /// Shows the changes that waited for a table or a column that a tracked database has now.
    /// - Throws: as ``init(_:)``; `cannotTrack` when the schema has something that cannot be
    ///   merged.
    /// - Complexity: O(waiting facts)
    public static func showWaiting(at path: String) throws {
        let replica = try StoreReplica(path)
        defer { try? replica.close() }
        try replica.run("track") { session in
            guard try UnknownFacts.exist(session.connection) else { return }
            try session.transact { _ in }
        }
    }
}
