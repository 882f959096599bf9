import CSQLite
import SyncValues
import Synchronization

/// The `-wal` and the `-shm` that a connection shares a database by in WAL mode: those that were at
/// the path when it had read for the first time.
///
/// While it is open no program has a reason to take them away, but people do, when they put a
/// backup in place by hand. Programs that open the database then make others, and see nothing of
/// this connection: a checkpoint of it would write old pages over what they commit, and when it is
/// closed as the last one of its own files, SQLite removes the `-wal` at the path, which is theirs,
/// with all that is in it. So this process writes nothing more then, closes without either
/// (``release(_:)``), and opens no further connection to the database before
/// (``DatabaseOpener``).
package final class SideFiles: Sendable {
    /// Which files are at the two paths.
    struct Identities: Sendable, Hashable {
        let wal: FileIdentity?
        let index: FileIdentity?

        init(ofDatabase path: String) {
            wal = FileIdentity(path: path + "-wal")
            index = FileIdentity(path: path + "-shm")
        }
    }

    /// Those that are in use in this process, and by how many connections, by database.
    private static let used = Mutex<ExactMap<[Identities: Int]>>([:])

    private let path: String
    private let identities: Identities
    private let isReleased = Mutex(false)

    /// - Returns: nil for a connection in a rollback mode, which has neither.
    package init?(openedBy connection: OpaquePointer) {
        path = Self.path(of: connection)
        identities = Identities(ofDatabase: path)
        guard identities.index != nil, identities.wal != nil else { return nil }
        Self.used.withLock { [path, identities] in
            $0[path, default: [:]][identities, default: 0] += 1
        }
    }

    deinit { forget() }

    /// Whether others are at the paths, or none.
    /// - Complexity: O(1), two system calls.
    package var areForsaken: Bool { Identities(ofDatabase: path) != identities }

    /// Before a connection is closed: where others are at the paths, SQLite neither writes back
    /// what is in these nor removes those.
    package func release(_ connection: OpaquePointer) {
        if areForsaken { syncd_sqlite_close_without_checkpoint(connection) }
        forget()
    }

    /// The error of work on a connection whose files were taken away.
    package static func forsaken(_ path: String) -> SyncError {
        SyncError(
            .storeReplaced, "the -wal and -shm of the database were removed while it was open",
            path: path, hint: "Try again; to restore a backup see docs/operations.md")
    }

    /// Whether a connection of this process has other files open than a new one would.
    static func areForsaken(ofDatabaseOpenedBy connection: OpaquePointer) -> Bool {
        let path = path(of: connection)
        guard let known = used.withLock({ $0[path] }) else { return false }
        return known.keys.contains { $0 != Identities(ofDatabase: path) }
    }

    private func forget() {
        let wasReleased = isReleased.withLock { isReleased in
            defer { isReleased = true }
            return isReleased
        }
        guard !wasReleased else { return }
        Self.used.withLock { [path, identities] used in
            let rest = (used[path]?[identities] ?? 1) - 1
            used[path]?[identities] = rest > 0 ? rest : nil
            if used[path]?.isEmpty ?? false { used[path] = nil }
        }
    }

    private static func path(of connection: OpaquePointer) -> String {
        sqlite3_db_filename(connection, "main").map { String(cString: $0) } ?? ""
    }
}
