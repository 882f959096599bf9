import CLinux
import CSQLite
import SyncValues
import Synchronization

/// The `-wal` and the `-shm` that a connection has open, by which it shares a database in WAL mode.
///
/// While it is open no program has a reason to take them away, but people do, when they put a
/// backup in place by hand. Programs that open the database then make others, and see nothing of
/// this connection: a checkpoint of it would write old pages over what they commit, and when it is
/// closed as the last one of its own files, SQLite removes the `-wal` at the path, which is theirs,
/// with all that is in it. So this process writes nothing more then, closes without either
/// (``SideFilesGuard``), and opens no further connection to the database before
/// (``DatabaseOpener``).
///
/// They may be taken away at any moment, also while a connection is being opened. So the files at
/// the paths are not taken for those that it has open: SQLite is asked for the descriptor of the
/// `-wal`, and the system for the `-shm` that is mapped where another one may be meant.
package final class SideFiles: Sendable {
    /// Which files are at the two paths.
    struct Identities: Sendable, Hashable {
        let wal: FileIdentity?
        let index: FileIdentity?

        init(ofDatabase path: String) {
            wal = FileIdentity(path: path + "-wal")
            index = FileIdentity(path: path + "-shm")
        }

        fileprivate init(wal: FileIdentity, index: FileIdentity?) {
            self.wal = wal
            self.index = index
        }

        /// Whether others are at the paths, or one of them is missing.
        fileprivate func areForsaken(at path: String) -> Bool {
            wal == nil || index == nil || self != Identities(ofDatabase: path)
        }
    }

    /// Those that are in use in this process, and by how many connections, by database.
    private static let used = Mutex<ExactMap<[Identities: Int]>>([:])

    private let path: String
    private let identities: Identities
    private let isReleased = Mutex(false)

    /// Those of a connection that has read.
    ///
    /// - Parameter before: what was at the paths before the connection was opened.
    /// - Returns: nil for a connection in a rollback mode, which has neither.
    /// - Complexity: O(1); O(mappings of the process) where the `-shm` is another than before.
    init?(openedBy connection: OpaquePointer, before: Identities) {
        let path = SQLiteFile.path(of: connection)
        guard let wal = FileIdentity(logOpenedBy: connection),
            wal != FileIdentity(path: path + "-journal")
        else { return nil }
        self.path = path
        identities = Identities(
            wal: wal, index: Self.index(openedBy: connection, of: path, before: before))
        Self.used.withLock { [path, identities] in
            $0[path, default: [:]][identities, default: 0] += 1
        }
    }

    /// The `-shm` of the connection; nil when it is known to be at the path no more.
    private static func index(
        openedBy connection: OpaquePointer, of path: String, before: Identities
    ) -> FileIdentity? {
        let now = FileIdentity(path: path + "-shm")
        // Where there was none before, this connection or another has made it since.
        guard let former = before.index, former != now else { return now }
        let region = SQLiteFile.database(connection)?.mapWalIndex()
        return syncd_mapping_is_unlinked(region) == 0 ? now : nil
    }

    deinit { forget() }

    /// Whether others are at the paths, or none.
    /// - Complexity: O(1), two system calls.
    var areForsaken: Bool { identities.areForsaken(at: path) }

    /// From now on SQLite neither writes back the WAL nor removes it when the connection is closed,
    /// until ``release(_:)``.
    static func hold(_ connection: OpaquePointer) {
        _ = syncd_sqlite_checkpoint_on_close(connection, 0)
    }

    /// Before a connection is closed: SQLite writes back what is in these files and removes them,
    /// but where others are at the paths.
    func release(_ connection: OpaquePointer) {
        _ = syncd_sqlite_checkpoint_on_close(connection, areForsaken ? 0 : 1)
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
        let path = SQLiteFile.path(of: connection)
        guard let known = used.withLock({ $0[path] }) else { return false }
        return known.keys.contains { $0.areForsaken(at: path) }
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
}
