import Foundation
import GRDB
import SyncStorage
import SyncValues

/// A command of another program that changes the schema while the triggers are out of its way: the
/// row `migration` of `syncd_meta`, JSON.
///
/// As long as one of its processes lives, the store is left alone. When none does and the row is
/// there, the migration was killed before it could end: the next process that looks ends it.
package struct Migration: Codable, Sendable, Hashable {
    /// The command as it was typed, for history.
    package let command: String
    /// The processes that run it.
    package let processes: [ProcessIdentity]

    package init(command: String, processes: [ProcessIdentity]) {
        self.command = command
        self.processes = processes
    }

    /// The author of the transaction that has what changed.
    package static let author = "synctool"

    /// Its context.
    package var context: String { "migrate: \(command)" }

    /// Whether a process other than this one still works on it.
    var isRunning: Bool { processes.contains { !$0.isCurrent && $0.isAlive } }

    var finding: CaptureFinding {
        CaptureFinding(entity: nil, table: "", problem: .migrating(command))
    }

    /// The error for a caller that would have to change the triggers.
    var busy: SyncError {
        let pids = processes.filter { $0.isAlive }.map { String($0.pid) }
        return SyncError(
            .busy, "a migration runs: \(command) (process \(pids.joined(separator: ", ")))",
            hint: "Try again when it has ended")
    }

    // MARK: Storing

    /// The migration that was begun and has not ended; nil: none. A row that cannot be read is one
    /// without processes.
    /// - Throws: the error of SQLite.
    static func stored(in db: Database) throws -> Migration? {
        guard let json = try Metadata(db).text(.migration) else { return nil }
        return (try? JSONDecoder().decode(Migration.self, from: Data(json.utf8)))
            ?? Migration(command: "an unknown command", processes: [])
    }

    /// - Throws: `busy` while one runs.
    /// - Returns: one that was left by processes that ended; nil: none.
    static func requireNoneRunning(in db: Database) throws -> Migration? {
        guard let migration = try stored(in: db) else { return nil }
        guard !migration.isRunning else { throw migration.busy }
        return migration
    }

    func store(in db: Database) throws {
        let json = try JSONEncoder().encode(self)
        try Metadata(db).set(.migration, to: .text(String(decoding: json, as: UTF8.self)))
    }

    static func remove(from db: Database) throws { try Metadata(db).set(.migration, to: .null) }
}
