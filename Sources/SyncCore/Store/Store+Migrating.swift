import CSQLite
import Foundation
import GRDB
import SyncStorage
import SyncValues

/// What a migration of another program changed.
public struct MigrationReport: Sendable, Hashable {
    /// The transaction that has the changes; nil: there were none, or they are recorded by the next
    /// merge.
    public let transaction: Token?
    /// How many changes were found.
    public let changes: Int
    /// What the repair of the triggers found.
    public let repair: RepairReport
}

extension Store {
    /// How often the fingerprints are brought up to date while other programs write.
    private static let preparationsMax = 20

    /// Removes the capture triggers for a command that changes the schema, which SQLite may refuse
    /// otherwise: `ALTER TABLE … DROP COLUMN`. Until ``endMigration(_:of:)`` nothing is
    /// recorded as it happens, neither what the command writes nor what other programs do.
    ///
    /// If none of `processes` lives any more, the next process that opens the store ends the
    /// migration.
    ///
    /// - Parameters:
    ///   - command: for history, as it was typed.
    ///   - processes: the process ids that the migration ends with.
    /// - Throws: ``SyncError``: `refused` when what the command changes could not be found
    ///   afterwards; `busy` while another migration runs; and what opening throws.
    /// - Complexity: O(rows) when the rows have no fingerprints yet, else O(tables).
    public static func beginMigration(
        _ path: String, of command: String, by processes: [Int32]
    ) throws {
        try explaining("migrate", at: path) {
            let migration = Migration(
                command: command, processes: processes.compactMap(ProcessIdentity.init))
            let store = try open(path)
            defer { try? store.close() }
            for attempt in 1...preparationsMax {
                while try store.digestPatiently() {}
                let tracker = try Tracker(path: path)
                let isLastTry = attempt == preparationsMax
                if try tracker.beginMigration(migration, isLastTry: isLastTry) { return }
            }
        }
    }

    /// Ends a migration that was killed, where the file may be written.
    static func endAbandonedMigration(_ queue: DatabaseQueue) throws {
        let isOpenable = try queue.read { db in
            try StoreDamage.find(db) == nil && Metadata(db).exists()
                && sqlite3_db_readonly(db.openConnection, "main") == 0
        }
        guard isOpenable else { return }
        do {
            try Tracker(queue).endAbandonedMigration()
        } catch let error as SyncError where [.busy, .cannotTrack].contains(error.code) {
            // History can be read nevertheless, and verifying the triggers says what is missing.
        }
    }

    /// Digests; a writer that holds the lock is waited for, as long as any command waits.
    private func digestPatiently() throws -> Bool {
        let end = ContinuousClock.now + DatabaseOpener.busyTimeout
        while true {
            do { return try digest() } catch let error as SyncError where error.code == .busy {
                if ContinuousClock.now >= end { throw error }
                usleep(20_000)
            }
        }
    }

    /// Records what a migration changed, and the tables as they are now.
    ///
    /// - Parameter command: as it was given to ``beginMigration(_:of:by:)``.
    /// - Throws: ``SyncError``: `notTracked`, `busy`, and what opening throws.
    /// - Complexity: O(rows); writers wait meanwhile.
    public static func endMigration(
        _ path: String, of command: String
    ) throws -> MigrationReport {
        try explaining("migrate", at: path) {
            let repair: RepairReport
            do {
                repair = try Tracker(path: path).endMigration()
            } catch let error as SyncError where error.code == .storeDamaged {
                // A tool that drops what its model does not know.
                repair = try mend(path, comparing: true)
            }
            let store = try open(path)
            defer { try? store.close() }
            var query = HistoryQuery()
            query.authors = [Migration.author]
            query.context = Migration(command: command, processes: []).context
            query.reverse = true
            query.limit = 1
            let found =
                repair.recoveredCount > 0 ? try store.history(query).first?.token : nil
            return MigrationReport(
                transaction: found, changes: repair.recoveredCount, repair: repair)
        }
    }
}
