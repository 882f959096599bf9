import Foundation
import GRDB
import SyncClient
import SyncCore

// What other processes commit: turned into changes that contexts merge as they merge each other's
// saves.

extension StoreCoordinator {
    /// Follows what other processes commit, from now on: through syncd where it runs and knows the
    /// store, else by watching the file. The two take turns by themselves, and nothing is lost when
    /// they do. Does nothing for a store in memory.
    ///
    /// - Parameter client: The daemon; nil: the file alone.
    /// - Throws: when the system has no watch left. ``checkForExternalChanges()`` can be called
    ///   instead.
    public func followExternalChanges(through client: StoreClient? = StoreClient()) throws {
        try follower?.start(for: self, through: client)
    }

    /// How other processes' commits reach this store now, and what stands in the way.
    public var following: FollowState { follower?.followState ?? FollowState() }

    /// Looks now whether another connection has committed, and if so has every context merge it.
    ///
    /// - Returns: Whether anything was committed.
    @discardableResult
    public func checkForExternalChanges() throws -> Bool {
        try checkFile()
        return try follower?.look(self) ?? false
    }

    /// The numbers by which SQLite says that others have committed, and changed the schema.
    func versions() throws -> (data: Int64, schema: Int64) {
        try read { db in
            let data = try RawStatement(db, sql: "PRAGMA data_version").number()
            return (data, try RawStatement(db, sql: "PRAGMA schema_version").number())
        }
    }

    /// The roots whose changes nobody records: their tables have no capture.
    func unrecordedRoots() throws -> Set<String> {
        let captured = try read { db in
            try String.fetchSet(
                db,
                sql: "SELECT DISTINCT tbl_name FROM sqlite_master"
                    + " WHERE type = 'trigger' AND name LIKE 'syncd\\_%' ESCAPE '\\'")
        }
        // Asked of the table itself: GRDB's answer is from before another process tracked it.
        let hasMarkers = try read { db in
            try Bool.fetchOne(
                db, sql: "SELECT EXISTS(SELECT 1 FROM sqlite_master WHERE name = 'syncd_txn')")
                ?? false
        }
        state.withLock { $0.hasMarkers = hasMarkers }
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

    /// The file at the path is another one, or none: every object is gone, with its edits.
    func loseIfReplaced() {
        guard (try? checkFile()) == nil else { return }
        publishing.withLock { publish(.storeLost, except: nil) }
    }

    /// Somebody wrote, and nothing says what.
    func publishUnknown(_ roots: Set<String>) {
        publishing.withLock { publish(.unknown(roots: roots), except: nil) }
    }

    // MARK: History

    /// Has contexts merge what transactions did beyond `position`, the last log row that is known.
    ///
    /// - Parameter position: Nil for transactions whose rows' places in the log did not travel: all
    ///   of it is new.
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
                    let id = identities.hear(
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

    /// This coordinator's own save, which its contexts have merged already.
    private func isOwn(_ transaction: SyncCore.Transaction) -> Bool {
        guard let author = transaction.author,
            transaction.process?.pid == Int64(ProcessInfo.processInfo.processIdentifier),
            transaction.flags.isEmpty, FollowedFiles.shared.isAlone(file)
        else { return false }
        let signature = Signature(author: author, context: transaction.context)
        return state.withLock { $0.signatures.contains(signature) }
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
            // The parent was deleted before its children: by now its key is retired.
            let next = identities.id(in: origin, key: ManagedObjectKey(parent.key.values))
            gone.cause = .cascade(of: next.with(incarnation: max(1, next.incarnation - 1)))
        }
        return gone
    }
}
