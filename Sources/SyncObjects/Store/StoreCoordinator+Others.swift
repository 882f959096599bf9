import Foundation
import GRDB
import SyncClient
import SyncCore

// What other processes commit: turned into changes that contexts merge as they merge each other's
// saves.

extension StoreCoordinator {
    /// Follows what other processes commit, from now on: through syncd where it runs and serves the
    /// store, else by watching the file. Changing from one to the other is automatic and loses
    /// nothing. Does nothing for a store in memory.
    ///
    /// - Parameter client: The daemon; nil to watch the file only.
    /// - Throws: ``ObjectError/Code/storeFailure`` or an error of the system when the file cannot
    ///   be watched. ``checkForExternalChanges()`` can be called instead.
    public func followExternalChanges(through client: StoreClient? = StoreClient()) throws {
        try follower?.start(for: self, through: client)
    }

    /// How other processes' commits reach this store now, and the last error.
    public var following: FollowState { follower?.followState ?? FollowState() }

    /// Checks now whether another connection has committed. If so, every context merges it.
    ///
    /// - Returns: Whether another connection has committed.
    /// - Throws: ``ObjectError/Code/storeReplaced``, ``ObjectError/Code/storeRemoved``, or an error
    ///   of the store when it cannot be read.
    @discardableResult
    public func checkForExternalChanges() throws -> Bool {
        try checkFile()
        return try follower?.check(self) ?? false
    }

    /// SQLite's counters of commits by other connections and of schema changes.
    func versions() throws -> (data: Int64, schema: Int64) {
        try read { db in
            let data = try RawStatement(db, sql: "PRAGMA data_version").number()
            return (data, try RawStatement(db, sql: "PRAGMA schema_version").number())
        }
    }

    /// The roots whose changes are not recorded: their tables have no capture triggers.
    func unrecordedRoots() throws -> Set<String> {
        let captured = try read { db in
            try String.fetchSet(
                db,
                sql: "SELECT DISTINCT tbl_name FROM sqlite_master"
                    + " WHERE type = 'trigger' AND name LIKE 'syncd\\_%' ESCAPE '\\'")
        }
        // Read from the schema table: GRDB's cached schema may be older than the tracking by
        // another process.
        let isTracked = try read { db in
            try Bool.fetchOne(
                db, sql: "SELECT EXISTS(SELECT 1 FROM sqlite_master WHERE name = 'syncd_txn')")
                ?? false
        }
        noteTracking(isTracked)
        var roots: Set<String> = []
        for layout in model.layouts.values where layout.name == layout.root {
            if !captured.contains(layout.table.name) { roots.insert(layout.root) }
        }
        for join in model.joins where !captured.contains(join.table) {
            for name in [join.sourceEntity, join.targetEntity] {
                if let layout = model.layouts[name] { roots.insert(layout.root) }
            }
        }
        return roots
    }

    var allRoots: Set<String> { Set(model.layouts.values.map(\.root)) }

    /// Marks every object as gone if the file at the path was replaced or removed.
    func publishIfLost() {
        guard (try? checkFile()) == nil else { return }
        publishing.withLock { publish(.storeLost, except: nil) }
    }

    /// Publishes that another connection committed, and that history does not describe the change.
    func publishUnknown(_ roots: Set<String>) {
        publishing.withLock { publish(.unknown(roots: roots), except: nil) }
    }

    // MARK: History

    /// Publishes what transactions changed after `position`, the last known log row.
    ///
    /// - Parameter position: Nil for transactions that arrived without the log positions of their
    ///   rows: all of their rows are new.
    func publish(_ transactions: [SyncCore.Transaction], after position: Int64?) {
        var change = CommittedChange()
        let tables = Dictionary(
            model.layouts.values.filter { $0.name == $0.root }.map { ($0.table.name, $0) },
            uniquingKeysWith: { first, _ in first })
        let pairs = Set(model.joins.map(\.table))
        for transaction in transactions {
            let isOwn = isOwn(transaction)
            for item in transaction.changes where position.map({ item.seq > $0 }) ?? true {
                guard let entity = tables[item.entity] else {
                    if !isOwn, pairs.contains(item.entity) { change.joinTables.insert(item.entity) }
                    continue
                }
                let origin = identities.origin(entity.root)
                let key = ManagedObjectKey(item.object.key.values)
                if item.kind == .delete {
                    let id = identities.recordDeletion(
                        origin: origin, key: key,
                        at: position == nil ? transaction.number : item.seq)
                    if !isOwn {
                        change.deleted.append(
                            DeletedObject(
                                id: id, gone: gone(item, in: transaction, tables: tables)))
                    }
                } else if !isOwn {
                    change.changed.append(
                        .init(
                            root: entity, id: identities.id(in: origin, key: key),
                            isNew: item.kind == .insert))
                }
            }
        }
        publishing.withLock { publish(.committed(change), except: nil) }
    }

    /// The transaction is a save of this coordinator, which its contexts have merged already.
    private func isOwn(_ transaction: SyncCore.Transaction) -> Bool {
        guard let author = transaction.author,
            transaction.process?.pid == Int64(ProcessInfo.processInfo.processIdentifier),
            transaction.flags.isEmpty, FollowedFiles.shared.isAlone(file)
        else { return false }
        return isOwn(Signature(author: author, context: transaction.context))
    }

    private func gone(
        _ change: Change, in transaction: SyncCore.Transaction, tables: [String: EntityLayout]
    ) -> Gone {
        var gone = Gone(
            .deleted, author: transaction.author,
            time: Date(timeIntervalSince1970: Double(transaction.timestamp.milliseconds) / 1000),
            transaction: transaction.number)
        gone.tombstone = change.tombstone.map { values in
            Dictionary(
                values.pairs.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
        }
        if case .cascade(let parent) = change.cause, let owner = tables[parent.entity] {
            let origin = identities.origin(owner.root)
            // The parent was deleted before its children, so that its key is retired by now.
            let next = identities.id(in: origin, key: ManagedObjectKey(parent.key.values))
            gone.cause = .cascade(of: next.with(incarnation: max(1, next.incarnation - 1)))
        }
        return gone
    }
}
