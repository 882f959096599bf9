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
    /// Rows of the log were deleted that were not digested, or all of them (``LogContinuity``).
    package let isLogCut: Bool
    /// `syncd_meta` says which store and replica the file is.
    let hasIdentity: Bool

    private static let capture = [LogTable.name, EntityTable.name, Metadata.name]

    /// What is missing; nil for a whole store, and for a database that has nothing of one.
    ///
    /// - Complexity: O(tables named `syncd_…`); O(triggers) for what is no store.
    /// - Throws: the error of SQLite.
    package static func find(_ db: Database) throws -> StoreDamage? {
        let present = try SchemaReader(db).ownTables()
        let metadata = try Metadata(db)
        let hasMeta = try metadata.exists()
        let hasIdentity = try hasMeta && metadata.hasIdentity()
        var missing = capture.filter { !present.contains($0) }
        // A tracker alone keeps no history; a store's file is named when its history is made.
        let history = StoreBlueprint.tables(.history)
        let keepsHistory =
            try history.contains(where: present.contains) || hasMeta && metadata.hasFile()
        if keepsHistory { missing += history.filter { !present.contains($0) } }
        let isLogCut = try hasIdentity && missing.isEmpty && isLogCut(db, metadata)
        if missing.isEmpty, hasIdentity, !isLogCut { return nil }
        guard try !StoreObjects(db).own.isEmpty else { return nil }
        return StoreDamage(missing: missing, isLogCut: isLogCut, hasIdentity: hasIdentity)
    }

    /// Whether the log ends before what was made of it, or is not the one that it was made of. An
    /// older copy of the file is no such case: its metadata is older, too.
    private static func isLogCut(_ db: Database, _ metadata: Metadata) throws -> Bool {
        let known = try metadata.newestPosition()
        let connection = try db.openConnection
        // A table of others may have the name.
        guard known <= Metadata.positionMax,
            let newest = try? LogTable.newest(on: connection)
        else { return false }
        return try newest < known || LogContinuity(metadata).isBroken()
    }

    /// Whether nothing of the database is ours.
    static func isUntracked(_ db: Database) throws -> Bool { try StoreObjects(db).own.isEmpty }

    /// The tables of merging that are missing from a store that was synchronised.
    /// - Throws: the error of SQLite.
    package static func missingReplication(_ db: Database) throws -> [String] {
        var wanted = StoreBlueprint.tables(.replication)
        let metadata = try Metadata(db)
        if try metadata.exists(), try metadata.integer(.named) != 0 {
            wanted += StoreBlueprint.tables(.names)
        }
        let present = try SchemaReader(db).ownTables()
        let missing = wanted.filter { !present.contains($0) }
        if missing.isEmpty { return [] }
        let isReplica = try missing.count < wanted.count || metadata.hasMerged()
        return isReplica ? missing : []
    }

    /// - Throws: `newerFormat` when a newer version wrote the store, `notTracked` when there is no
    ///   store, `storeDamaged` when tables of it are missing.
    package static func requireReadable(_ db: Database) throws {
        let metadata = try Metadata(db)
        try metadata.requireKnownFormat()
        if let damage = try find(db) { throw damage.error }
        if try !metadata.exists() { throw Metadata.notTracked }
    }

    /// The error for a caller that needs a whole store.
    package var error: SyncError {
        if isLogCut { return LogContinuity.isCut }
        let reason =
            missing.isEmpty
            ? "the table syncd_meta does not say which store it is"
            : "tables of its history are missing (\(missing.joined(separator: ", "))): "
                + "another program dropped them, or the file contains only a copy of the schema"
        return SyncError(.storeDamaged, reason, hint: Self.hint)
    }

    package static let hint =
        "To repair it run: synctool doctor DB --mend; to remove what is left: synctool untrack DB"
}
