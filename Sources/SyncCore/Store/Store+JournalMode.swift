import CSQLite
import GRDB
import SyncStorage
import SyncValues

extension Store {
    /// Whether a database is in WAL mode, in which a daemon tells each commit from the next.
    ///
    /// - Throws: ``SyncError``: what opening throws.
    public static func isWal(_ path: String) throws -> Bool {
        try explaining("journal mode", at: path) {
            let queue = try DatabaseOpener.open(path, for: .reading)
            defer { try? queue.close() }
            return try queue.read { try String.fetchOne($0, sql: "PRAGMA journal_mode") == "wal" }
        }
    }

    /// How long ``useWal(_:)`` waits for other programs: SQLite changes the mode only in a moment
    /// in which no other connection reads or writes.
    private static let wait = Duration.seconds(5)

    /// Changes a database to WAL mode, for good: the mode is a property of the file.
    ///
    /// - Throws: ``SyncError``: `busy` when another program is reading or writing for five seconds;
    ///   `refused` where WAL is not possible; `readOnly`; what opening throws.
    public static func useWal(_ path: String) throws {
        try explaining("journal mode", at: path) {
            let queue = try DatabaseOpener.open(path, for: .writing)
            defer { try? queue.close() }
            let end = ContinuousClock.now + wait
            while true {
                do {
                    let mode = try queue.writeWithoutTransaction {
                        try String.fetchOne($0, sql: "PRAGMA journal_mode = WAL") ?? ""
                    }
                    guard mode == "wal" else {
                        throw SyncError(
                            .refused, "SQLite keeps the journal mode \(mode.uppercased()) here",
                            hint: "WAL needs a local file system with shared memory")
                    }
                    return
                } catch {
                    let isBusy = SyncError(wrapping: error)?.code == .busy
                    guard isBusy, .now < end else { throw error }
                    sqlite3_sleep(20)
                }
            }
        }
    }
}
