import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

extension StoreReplica {
    /// What this replica has merged and cannot show, because its schema has no place for it, in the
    /// order of the tables' names.
    /// - Throws: ``SyncError``: `busy`, and what SQLite says.
    /// - Complexity: O(facts that wait)
    public var waiting: [WaitingChanges] {
        get throws {
            try run("waiting") { session in
                try session.transact { work in
                    try WaitingFacts(session.connection, work.schema).changes()
                }
            }
        }
    }

    /// Shows what waited for a table or a column that a tracked database has now.
    /// - Throws: as opening throws; `cannotTrack` when the schema has something that cannot be
    ///   merged.
    public static func showWaiting(at path: String) throws {
        let replica = try StoreReplica(path)
        defer { try? replica.close() }
        try replica.run("track") { session in
            guard try WaitingFacts.exist(session.connection) else { return }
            try session.transact { _ in }
        }
    }
}
