import Foundation
import GRDB
import SyncCore
import Synchronization

/// The state of the store that a context is pinned at: an open read transaction on a separate
/// connection.
///
/// Cost: SQLite cannot checkpoint the write-ahead log beyond this state, so that the log grows
/// while others write. ``PinnedState`` says how old it is and how long the log has become.
///
/// Invariant: the connection is in a transaction that has read, except during `advance` and `save`.
final class PinnedSnapshot: ObjectSource {
    private let coordinator: StoreCoordinator
    private let queue: DatabaseQueue
    private let path: String
    private let state: Mutex<(since: Date, identities: Identities)>

    /// - Throws: ``ObjectError/Code/invalidRequest`` for a store that is not a file in WAL mode.
    init(_ coordinator: StoreCoordinator) throws {
        guard let path = coordinator.path else {
            throw ObjectError(.invalidRequest, "a store in memory has only one state")
        }
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        configuration.foreignKeysEnabled = true
        configuration.readonly = coordinator.isReadOnly
        configuration.busyMode = .timeout(5)
        configuration.prepareDatabase { SQLFunctions.install($0) }
        self.coordinator = coordinator
        self.path = path
        queue = try DatabaseQueue(path: path, configuration: configuration)
        state = Mutex((Date(), Identities(copying: coordinator.identities)))
        let mode = try queue.unsafeRead { try String.fetchOne($0, sql: "PRAGMA journal_mode") }
        guard mode == "wal" else {
            throw ObjectError(
                .invalidRequest, "only a store in WAL mode keeps older states",
                hint: "Run: PRAGMA journal_mode = WAL", path: path)
        }
        if !coordinator.isReadOnly {
            try queue.writeWithoutTransaction { try coordinator.rows.derived.follow($0) }
        }
        try begin()
    }

    deinit { try? queue.close() }

    var identities: Identities { state.withLock(\.identities) }

    var pinned: PinnedState {
        let size = (try? FileManager.default.attributesOfItem(atPath: path + "-wal"))?[.size]
        return PinnedState(
            since: state.withLock(\.since), walBytes: (size as? NSNumber)?.intValue ?? 0)
    }

    private func begin() throws {
        // Before anything is read: see `Identities.Incarnations`.
        let known = Identities(copying: coordinator.identities)
        try queue.writeWithoutTransaction { db in
            try db.execute(sql: "BEGIN")
            // The state is chosen by the first read.
            _ = try Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_master")
        }
        state.withLock { $0 = (Date(), known) }
    }

    /// Moves to the present state of the store.
    func advance() throws {
        try queue.writeWithoutTransaction { db in
            if db.isInsideTransaction { try db.execute(sql: "ROLLBACK") }
        }
        try begin()
    }

    private func read<Result>(_ body: (StoreRows, Database) throws -> Result) throws -> Result {
        let rows = StoreRows(model: coordinator.model, identities: identities)
        do {
            return try queue.unsafeRead { try body(rows, $0) }
        } catch let error as DatabaseError {
            throw coordinator.failure(error)
        }
    }

    func rows(_ query: ObjectQuery) throws -> [StoredRow] {
        try read { try $0.fetch(query, in: $1) }
    }

    func ids(_ query: ObjectQuery) throws -> [ManagedObjectID] {
        try read { try $0.fetchIDs(query, in: $1) }
    }

    func count(_ query: ObjectQuery) throws -> Int { try read { try $0.count(query, in: $1) } }

    func pairs(
        _ join: JoinLayout, isSource: Bool, of key: Value
    ) throws -> [(key: Value, order: Value)] {
        try read { try $0.joinMembers(join, isSource: isSource, of: key, in: $1) }
    }

    /// Writes in the transaction that reads, which SQLite allows as long as no other connection has
    /// written since; then the pin moves to the state after the save.
    ///
    /// - Throws: ``ObjectError/Code/snapshotTooOld`` when another connection has written; the pin
    ///   stays where it is.
    func save(_ request: SaveRequest, saver: (any ChangeListener)?) throws -> SaveResult {
        try coordinator.checkFile()
        coordinator.publishing.lock()
        defer { coordinator.publishing.unlock() }
        let result: SaveResult
        do {
            result = try queue.writeWithoutTransaction { db in
                let result = try coordinator.perform(request, in: db)
                try db.execute(sql: "COMMIT")
                return result
            }
        } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {
            throw ObjectError(
                .snapshotTooOld, "others have written since the context was pinned",
                hint: "Call unpin(), check what changed, and save again", path: path,
                underlying: error)
        } catch {
            try advance()
            if let error = error as? DatabaseError { throw coordinator.failure(error) }
            throw error
        }
        coordinator.publishSave(result, except: saver)
        try begin()
        return result
    }

    func add(_ listener: any ChangeListener) { coordinator.add(listener) }
}
