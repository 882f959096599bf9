import SyncCore
import SyncMerge
import SyncStorage

extension StoreReplica {
    /// The changes that this replica has merged and cannot show, because its schema has no place
    /// for them, in the order of the tables' names.
    /// - Throws: ``SyncError``: `busy`, and SQLite errors.
    /// - Complexity: O(waiting facts)
    public var waiting: [WaitingChanges] {
        get throws {
            try run("waiting") { session in
                guard try session.isMerging() else { return [] }
                return try session.transact {
                    try WaitingFacts($0.storage).changes()
                }
            }
        }
    }

    /// The same of a file; none, and nothing is opened for writing, where nothing waits.
    /// - Throws: as ``Store/open(_:)`` and ``waiting``.
    package static func waiting(_ path: String) throws -> [WaitingChanges] {
        let store = try Store.open(path, isResolved: false, isMending: false)
        defer { try? store.close() }
        let isAny = try store.reading.read { database in
            guard try UnknownFacts.exist(database.connection) else { return false }
            let select = try Statement(
                "SELECT EXISTS(SELECT 1 FROM syncd_unknown)", on: database.connection)
            return try select.step() && select.integer(0) != 0
        }
        guard isAny else { return [] }
        let replica = try StoreReplica(path)
        defer { try? replica.close() }
        return try replica.waiting
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
