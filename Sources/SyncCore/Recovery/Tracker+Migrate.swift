import GRDB
import SyncStorage
import SyncValues

/// Making room for a migration of another program, and recording what it changed.
///
/// While it runs, each table has a ``PlaceholderTrigger`` in place of its capture triggers, and
/// `syncd_meta` names the processes that run it (``Migration``): as long as one of them lives,
/// nobody repairs the triggers. Both are written in one transaction, and so are their removal, the
/// new triggers and what the comparison of the tables with the fingerprints finds.
extension Tracker {
    /// Removes the triggers. Every row has its fingerprint then, so that what is written from now
    /// on is found.
    ///
    /// - Parameter isLastTry: accepts rows that were changed after their fingerprints were taken;
    ///   they count as changed again.
    /// - Returns: false when fingerprints are missing: digest, and try again.
    /// - Throws: `refused` when a table cannot be compared, `notTracked`, `storeDamaged`; `busy`
    ///   while another migration runs.
    func beginMigration(_ migration: Migration, isLastTry: Bool) throws -> Bool {
        try write("migrate") { db in
            try StoreDamage.requireReadable(db)
            // This also ends one that was killed.
            _ = try repairCapture(db)
            guard try isPrinted(db, isLastTry: isLastTry) else { return false }
            for entity in try EntityTable(db).live() {
                try dropTriggers(db, of: entity.id)
                try db.execute(sql: PlaceholderTrigger(entity).sql)
            }
            try migration.store(in: db)
            return true
        }
    }

    private func isPrinted(_ db: Database, isLastTry: Bool) throws -> Bool {
        let connection = try db.openConnection
        let metadata = Metadata(connection)
        guard try FingerprintTable.exists(connection) else {
            throw SyncError(
                .refused, "the store keeps no fingerprints to compare its tables with",
                hint: "Run: synctool doctor DB --mend")
        }
        let complete = try FingerprintTable.complete(connection)
        for entity in try EntityTable(db).live() where !complete.contains(entity.lineage) {
            guard isLastTry else { return false }
            throw SyncError(
                .refused, "not all rows of \(entity.name) have a fingerprint to compare with yet",
                hint: "Nothing was run. Try again when other programs write less")
        }
        let digested = try metadata.position(.digested)
        return try isLastTry
            || digested == LogTable.newest(on: connection)
                && digested == metadata.position(.fingerprinted)
    }

    /// Makes the triggers again and records what was written without them, as one transaction
    /// flagged `recovered`.
    ///
    /// - Throws: as ``repairCapture(comparing:)``.
    /// - Complexity: O(rows); writers wait meanwhile.
    func endMigration() throws -> RepairReport {
        try write("migrate") { db in
            try StoreDamage.requireReadable(db)
            return try repairCapture(db)
        }
    }

    /// Ends a migration whose processes were killed; does nothing else.
    ///
    /// - Throws: as ``repairCapture(comparing:)``.
    func endAbandonedMigration() throws {
        let isLeft = try queue.read { db in
            let migration = try Migration.stored(in: db)
            return migration.map { !$0.isRunning } ?? false
        }
        if isLeft { _ = try endMigration() }
    }
}
