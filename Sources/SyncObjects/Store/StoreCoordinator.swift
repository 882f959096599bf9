import Foundation
import GRDB
import SyncCore
import SyncStorage
import Synchronization

/// One store as contexts see it: reads rows, writes saves, assigns keys, and notifies every context
/// of what a save changed.
///
/// Invariants: the connection is used on its queue only; a save is one transaction; listeners are
/// notified after the commit, in the order of the commits, without a lock of a context.
public final class StoreCoordinator: Sendable {
    /// The model of the store.
    public let model: ManagedObjectModel
    /// The file; nil for a store in memory.
    public let path: String?
    /// The store was opened for reading only.
    public let isReadOnly: Bool
    let queue: DatabaseQueue
    let identities: Identities
    let rows: StoreRows
    let file: FileIdentity?
    let follower: StoreFollower?
    private let state: Mutex<State>
    /// Held from before a commit until all listeners were notified of it, and while they are
    /// notified of others' commits. A context therefore receives commits in their order.
    let publishing = NSLock()

    private struct State {
        /// By table.
        var keys: [ObjectIdentifier: KeyBlock] = [:]
        var listeners: [ObjectIdentifier: WeakListener] = [:]
        var conflicts: [ResolvedConflict] = []
        var isTracked = false
        var isClosed = false
        /// Authors and contexts of this coordinator's saves, by which it recognizes them in
        /// history.
        var signatures: Set<Signature> = []
    }

    struct Signature: Hashable {
        let author: String
        let context: String?
    }

    struct KeyBlock {
        var next: Int64 = 1
        var end: Int64 = 1
        /// Grows with each reservation, so that small stores have small keys.
        var size: Int64 = 16

        mutating func take() -> Int64? {
            guard next < end else { return nil }
            next += 1
            return next - 1
        }
    }

    private struct WeakListener {
        weak var listener: (any ChangeListener)?
    }

    /// The most keys reserved at once. A crash leaves them unused.
    private static let keyBlockMax: Int64 = 4096
    /// Resolved conflicts that are kept.
    private static let conflictsMax = 1000

    init(
        model: ManagedObjectModel, queue: DatabaseQueue, path: String?, store: UUID,
        isReadOnly: Bool
    ) throws {
        self.model = model
        self.queue = queue
        self.path = path
        self.isReadOnly = isReadOnly
        identities = Identities(store: store)
        rows = StoreRows(model: model, identities: identities)
        file = path.flatMap(FileIdentity.init(path:))
        follower = path.map(StoreFollower.init(path:))
        var state = State()
        state.isTracked = try queue.read { try $0.viewExists("syncd_txn") }
        self.state = Mutex(state)
        FollowedFiles.shared.add(file)
    }

    deinit { FollowedFiles.shared.remove(file) }

    /// The store's identity, which its objects' ids carry.
    public var storeID: UUID { identities.store }

    /// Conflicts that a policy resolved, the newest last; at most 1,000, in memory.
    public var resolvedConflicts: [ResolvedConflict] { state.withLock(\.conflicts) }

    /// History is kept. As of the last read of the schema.
    var isTracked: Bool { state.withLock(\.isTracked) }

    func noteTracking(_ isTracked: Bool) { state.withLock { $0.isTracked = isTracked } }

    /// A save of this coordinator had this signature.
    func isOwn(_ signature: Signature) -> Bool {
        state.withLock { $0.signatures.contains(signature) }
    }

    func note(_ conflicts: [ResolvedConflict]) {
        state.withLock { state in
            state.conflicts += conflicts
            let surplus = state.conflicts.count - Self.conflictsMax
            if surplus > 0 { state.conflicts.removeFirst(surplus) }
        }
    }

    // MARK: Reading

    func read<Result>(_ body: (Database) throws -> Result) throws -> Result {
        do {
            // No transaction: each statement sees one state of the store, and no caller needs two
            // statements at the same state.
            return try queue.unsafeRead { db in
                try checkOpen()
                return try body(db)
            }
        } catch let error as DatabaseError {
            throw failure(error)
        }
    }

    /// Closes the connection. Later calls throw.
    func close() {
        follower?.stop()
        state.withLock { $0.isClosed = true }
        try? queue.close()
    }

    /// On the connection's queue. A closed connection is a null pointer to SQLite.
    private func checkOpen() throws {
        guard state.withLock({ !$0.isClosed }) else {
            throw ObjectError(
                .contextReset, "the container was closed", hint: "Make a new container", path: path)
        }
    }

    /// SQLite's error as one of this layer.
    func failure(_ error: DatabaseError) -> ObjectError {
        let code: ObjectError.Code
        var hint: String?
        switch error.resultCode {
        case .SQLITE_READONLY, .SQLITE_CANTOPEN, .SQLITE_PERM:
            code = .readOnly
            hint = "Check the permissions of the file and of its folder"
        case .SQLITE_CONSTRAINT: code = .constraintConflict
        case .SQLITE_BUSY, .SQLITE_LOCKED:
            code = .storeFailure
            hint = "Another program is writing. Try again, or raise busyTimeout"
        case .SQLITE_FULL:
            code = .storeFailure
            hint = "Free space on the disk, and try again"
        case .SQLITE_CORRUPT, .SQLITE_NOTADB:
            code = .storeFailure
            hint = path.map { "Run: synctool doctor \(Shell.quoted($0))" }
        default: code = .storeFailure
        }
        return ObjectError(
            code, error.message ?? "\(error.resultCode)", hint: hint, path: path,
            underlying: error)
    }

    // MARK: Keys

    /// The key of a new object. It is permanent when the table is managed and the store can be
    /// written. The first object of a block costs a small transaction.
    func newKey(_ entity: EntityLayout) -> ManagedObjectKey {
        guard entity.table.isManaged, !isReadOnly else { return identities.temporaryKey() }
        let table = ObjectIdentifier(entity.table)
        let taken = state.withLock { $0.keys[table, default: KeyBlock()].take() }
        if let taken { return .integer(taken) }
        guard let key = try? reserve(entity.table) else { return identities.temporaryKey() }
        return .integer(key)
    }

    private func reserve(_ layout: TableLayout) throws -> Int64 {
        let table = ObjectIdentifier(layout)
        let size = state.withLock { $0.keys[table]?.size ?? KeyBlock().size }
        let last = try queue.write { db -> Int64 in
            try checkOpen()
            try db.execute(
                sql: "UPDATE sqlite_sequence SET seq = seq + ? WHERE name = ?",
                arguments: [size, layout.name])
            if db.changesCount == 0 {
                try db.execute(
                    sql: "INSERT INTO sqlite_sequence(name, seq) VALUES (?, ?)",
                    arguments: [layout.name, size])
            }
            return try Int64.fetchOne(
                db, sql: "SELECT seq FROM sqlite_sequence WHERE name = ?", arguments: [layout.name])
                ?? 0
        }
        return state.withLock { state in
            let first = last - size + 1
            // Another thread may have reserved a block meanwhile: that block stays in use, and only
            // one key of this one is used.
            if let block = state.keys[table], block.next < block.end { return first }
            state.keys[table] = KeyBlock(
                next: first + 1, end: last + 1, size: min(size * 4, Self.keyBlockMax))
            return first
        }
    }

    // MARK: Saving

    /// Writes a request, and notifies all listeners except `saver`.
    ///
    /// - Throws: ``SaveConflicts``, or an ``ObjectError`` with nothing written.
    func save(_ request: SaveRequest, saver: (any ChangeListener)?) throws -> SaveResult {
        try publishing.withLock {
            let result = try write { try perform(request, in: $0) }
            publishSave(result, except: saver)
            return result
        }
    }

    /// Writes a request in the open transaction, between markers where history is kept.
    func perform(_ request: SaveRequest, in db: Database) throws -> SaveResult {
        let author = state.withLock { $0.isTracked ? request.author : nil }
        if let author {
            state.withLock {
                _ = $0.signatures.insert(Signature(author: author, context: request.contextName))
            }
            try db.execute(
                sql: "INSERT INTO syncd_txn(author, context, pid) VALUES (?, ?, ?)",
                arguments: [
                    author, request.contextName, ProcessInfo.processInfo.processIdentifier,
                ])
        }
        var transaction = SaveTransaction(request, in: db, rows: rows)
        var result = try transaction.run()
        // The end is marked as well, because the commit may not be observed.
        if author != nil { try db.execute(sql: "INSERT INTO syncd_txn(author) VALUES (NULL)") }
        let needsPosition =
            !result.saved.deleted.isEmpty
            || result.saved.inserted.contains { $0.id.incarnation > 1 }
        if needsPosition { result.saved.logPosition = try logPosition(db) }
        return result
    }

    /// The end of the log as `db` sees it; 0 without history.
    private func logPosition(_ db: Database) throws -> Int64 {
        guard isTracked else { return 0 }
        return try RawStatement(db, sql: "SELECT max(seq) FROM syncd_log").number()
    }

    /// The end of the log now; 0 without history.
    func logPosition() throws -> Int64 { try read(logPosition) }

    /// Records permanent ids, and notifies all listeners of a committed save.
    func publishSave(_ result: SaveResult, except saver: (any ChangeListener)?) {
        for (temporary, permanent) in result.renamed where temporary.isTemporary {
            identities.alias(temporary, to: permanent)
        }
        saver?.didSave(result.saved)
        publish(.saved(result.saved), except: saver)
    }

    func write<Result>(_ body: (Database) throws -> Result) throws -> Result {
        try checkFile()
        guard !isReadOnly else {
            throw ObjectError(
                .readOnly, "the store was opened for reading only",
                hint: "Set isReadOnly to false in its StoreDescription", path: path)
        }
        do {
            return try queue.write { db in
                try checkOpen()
                return try body(db)
            }
        } catch let error as DatabaseError {
            throw failure(error)
        }
    }

    /// - Throws: ``ObjectError/Code/storeRemoved``, ``ObjectError/Code/storeReplaced``
    func checkFile() throws {
        guard let path, let file else { return }
        guard let present = FileIdentity(path: path) else {
            throw ObjectError(
                .storeRemoved, "the store's file was removed",
                hint: "Restore the file, or make a new container", path: path)
        }
        guard present == file else {
            throw ObjectError(
                .storeReplaced, "the store's file was replaced by another one",
                hint: "Make a new container. Unsaved edits are still in their objects", path: path)
        }
    }

    /// Retires deleted ids, and notifies the listeners.
    func publish(_ change: StoreChange, except saver: (any ChangeListener)?) {
        switch change {
        case .saved(let saved):
            for item in saved.deleted { identities.retire(item.id, at: saved.logPosition) }
            for row in saved.inserted { identities.revive(row.id, at: saved.logPosition) }
        case .committed(let committed):
            // Recorded with its position when the transaction was read.
            for item in committed.deleted { identities.retire(item.id, at: 0) }
        case .unknown, .storeLost: break
        }
        guard !change.isEmpty else { return }
        // The references leave the lock: each may be the last one by now, and the `deinit` of a
        // context takes the lock to remove it.
        let listeners = state.withLock { $0.listeners.values.compactMap(\.listener) }
        for listener in listeners where listener !== saver { listener.receive(change) }
    }

    func add(_ listener: any ChangeListener) {
        state.withLock {
            $0.listeners[ObjectIdentifier(listener)] = WeakListener(listener: listener)
        }
    }

    func remove(_ listener: any ChangeListener) {
        state.withLock { _ = $0.listeners.removeValue(forKey: ObjectIdentifier(listener)) }
    }
}
