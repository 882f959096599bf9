import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

extension Store {
    /// How many objects are alive and have no row here: a constraint keeps them out of the tables,
    /// or what they refer to is absent. Each is an open conflict.
    /// - Throws: ``SyncError``: SQLite errors.
    /// - Complexity: O(open conflicts)
    package func hiddenRowCount() throws -> Int {
        try explaining("status") {
            try reading.read { try HiddenRows.count($0.connection) }
        }
    }

    /// The same of a file.
    /// - Throws: as ``Store/open(_:)`` and ``hiddenRowCount()``.
    package static func hiddenRowCount(_ path: String) throws -> Int {
        let store = try Store.open(path, isResolved: false, isMending: false)
        defer { try? store.close() }
        return try store.hiddenRowCount()
    }
}

extension StoreReplica {
    /// How many objects are alive and have no row here.
    /// - Throws: ``SyncError``: `busy`, and SQLite errors.
    /// - Complexity: O(open conflicts)
    public func hiddenRowCount() throws -> Int {
        try run("status") { session in
            try RawTransaction.read(on: session.connection) {
                try HiddenRows.count(session.connection)
            }
        }
    }
}

/// The objects that are alive and have no row here.
enum HiddenRows {
    /// A record that begins with 0 has no life fact: of such an object there is an edit alone.
    static func count(_ connection: OpaquePointer) throws -> Int {
        guard try ReplicationTables.exist(connection) else { return 0 }
        let select = try Statement(
            """
            SELECT count(DISTINCT c.uid) FROM syncd_conflict c JOIN syncd_object o USING(uid)
            WHERE c.closed IS NULL AND o.key IS NULL AND o.state = ?1 AND c.reason = ?2
              AND substr(o.record, 1, 1) <> X'00'
            """, on: connection)
        select.bind(StoredObject.State.unresolved.rawValue, at: 1)
        select.bind(ConflictReason.hidden.rawValue, at: 2)
        defer { select.reset() }
        return try select.step() ? Int(select.integer(0)) : 0
    }
}
