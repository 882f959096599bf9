import GRDB
import SyncCore
import SyncStorage
import SyncValues

/// The connection on which a store is merged. Foreign keys are off on it: after a merge they hold,
/// and no action may run before.
///
/// `@unchecked Sendable`: `session` is created and used inside the blocks of `queue` only, which
/// run one at a time.
final class MergeConnection: @unchecked Sendable {
    private let queue: DatabaseQueue
    private let identity: StoreIdentity
    private let environment: MergeEnvironment
    private var session: MergeSession?
    private var sideFiles: SideFilesGuard

    /// - Throws: as ``DatabaseOpener``.
    init(
        to path: String, file: FileIdentity, identity: StoreIdentity,
        environment: MergeEnvironment
    ) throws {
        sideFiles = SideFilesGuard(beforeOpening: path)
        queue = try DatabaseOpener.open(path, for: .merging, expecting: .file(file))
        self.identity = identity
        self.environment = environment
    }

    /// Runs `body` on the connection's queue.
    /// - Throws: ``SyncError``: what `body` throws, and SQLite errors.
    func withSession<Result>(_ body: (MergeSession) throws -> Result) throws -> Result {
        do {
            return try queue.writeWithoutTransaction { database in
                try sideFiles.require(at: queue.path)
                defer { database.sqliteConnection.map { sideFiles.noteUse(of: $0) } }
                if let session { return try body(session) }
                var tracker = Tracker(queue)
                tracker.wall = environment.wall
                let session = try MergeSession(
                    database, tracker: tracker, identity: identity, environment: environment)
                self.session = session
                return try body(session)
            }
        } catch {
            if let known = SyncError(wrapping: error) { throw known }
            throw error
        }
    }

    /// Finalizes the statements and closes the connection.
    /// - Throws: SQLite errors.
    func close() throws {
        queue.writeWithoutTransaction { database in
            session = nil
            if let connection = database.sqliteConnection { sideFiles.release(connection) }
        }
        try queue.close()
    }
}
