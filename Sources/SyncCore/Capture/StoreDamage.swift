import GRDB
import SyncStorage
import SyncValues

/// Tables of a store that are missing: a tool that compares a schema with a model drops what it
/// does not know, and a copy of the schema alone has the tables without their rows.
///
/// What is left cannot be read as a store. Writers may be refused meanwhile, because the triggers
/// on their tables write to tables that are gone. ``Store/mend(_:comparing:)`` repairs it.
package struct StoreDamage: Hashable {
    /// The tables that are missing.
    package let missing: [String]
    /// `syncd_meta` says which store and replica the file is.
    let hasIdentity: Bool

    private static let capture = ["syncd_log", "syncd_entity", "syncd_meta"]

    /// What is missing; nil for a whole store, and for a database that has nothing of one.
    ///
    /// - Complexity: O(tables named `syncd_…`); O(triggers) for what is no store.
    package static func find(_ db: Database) throws -> StoreDamage? {
        let present = Set(
            try String.fetchAll(
                db,
                sql: """
                    SELECT lower(name) FROM main.sqlite_schema
                    WHERE type = 'table' AND name LIKE 'syncd\\_%' ESCAPE '\\'
                    """))
        let hasMeta = try StoreMeta.exist(db)
        let hasIdentity = try hasMeta && Self.hasIdentity(db)
        var missing = capture.filter { !present.contains($0) }
        // A tracker alone keeps no history; a store's file is named when its history is made.
        let history = StoreBlueprint.tables(.history)
        let keepsHistory = try history.contains(where: present.contains) || hasMeta && hasFile(db)
        if keepsHistory { missing += history.filter { !present.contains($0) } }
        if missing.isEmpty, hasIdentity { return nil }
        guard try !StoreObjects(db).own.isEmpty else { return nil }
        return StoreDamage(missing: missing, hasIdentity: hasIdentity)
    }

    /// Whether nothing of the database is ours.
    static func isUntracked(_ db: Database) throws -> Bool { try StoreObjects(db).own.isEmpty }

    /// The tables of merging that are missing from a store that was synchronised.
    package static func missingReplication(_ db: Database) throws -> [String] {
        let wanted = StoreBlueprint.tables(.replication)
        let present = Set(
            try String.fetchAll(
                db,
                sql: """
                    SELECT lower(name) FROM main.sqlite_schema
                    WHERE type = 'table' AND name LIKE 'syncd\\_%' ESCAPE '\\'
                    """))
        let missing = wanted.filter { !present.contains($0) }
        if missing.isEmpty { return [] }
        let isReplica = try missing.count < wanted.count || StoreMeta.hasMerged(db)
        return isReplica ? missing : []
    }

    private static func hasIdentity(_ db: Database) throws -> Bool {
        try Bool.fetchOne(
            db,
            sql: """
                SELECT count(*) = 3 FROM syncd_meta
                WHERE key IN ('store', 'replica') AND typeof(value) = 'blob' AND length(value) = 16
                  OR key = 'format' AND typeof(value) = 'integer' AND value >= 1
                """) ?? false
    }

    private static func hasFile(_ db: Database) throws -> Bool {
        try Bool.fetchOne(
            db, sql: "SELECT EXISTS(SELECT 1 FROM syncd_meta WHERE key = 'file')") ?? false
    }

    /// What to tell whoever wanted to use it as a store.
    package var error: SyncError {
        let reason =
            missing.isEmpty
            ? "the table syncd_meta does not say which store it is"
            : "tables of its history are missing (\(missing.joined(separator: ", "))): "
                + "another program dropped them, or the file is a copy of a schema alone"
        return SyncError(.storeDamaged, reason, hint: Self.hint)
    }

    package static let hint =
        "To repair it run: synctool doctor DB --mend; to remove what is left: synctool untrack DB"
}
