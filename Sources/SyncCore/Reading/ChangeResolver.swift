import SyncStorage
import SyncValues

/// Puts names and incarnations to net changes: what is stored becomes what callers see.
///
/// The incarnation of an object is the number of the transaction that last inserted its key. It is
/// looked up, not stored: in the history tables, and in `births` for transactions that are not
/// written yet.
final class ChangeResolver {
    private let store: StoreID
    private let epoch: Int64
    private let catalog: EntityCatalog
    private let findInsert: Statement
    private let findNumber: Statement
    /// Of the transactions that the history tables do not have yet.
    var births = PendingBirths()
    /// By the earlier and the present entity.
    private var presentNames: [[Int64]: PresentNames] = [:]

    init(
        _ connection: OpaquePointer, store: StoreID, epoch: Int64, catalog: EntityCatalog
    ) throws {
        self.store = store
        self.epoch = epoch
        self.catalog = catalog
        findInsert = try Statement(ChangeTable.newestOfObjectSQL, on: connection)
        findNumber = try Statement(TransactionTable.numberSQL, on: connection)
    }

    /// What callers see of a transaction that is not in the history tables yet. Transactions have
    /// to come in order.
    ///
    /// - Parameter position: of the reader; where it lies inside the transaction, changes that were
    ///   over by then are left out.
    func resolve(
        pending transaction: NetTransaction, after position: Int64 = 0
    ) throws -> Transaction {
        // First, because it may delete what it inserted.
        births.note(transaction)
        var result = header(pending: transaction)
        result.changes.reserveCapacity(transaction.changes.count)
        for change in transaction.changes where change.last > position {
            result.changes.append(try resolve(change, in: transaction.number))
        }
        return result
    }

    /// A transaction that is not in the history tables yet, without its changes.
    func header(pending transaction: NetTransaction) -> Transaction {
        Transaction(
            token: token(of: transaction.number, time: transaction.time), first: transaction.first,
            timestamp: transaction.time, author: transaction.who?.author,
            context: transaction.who?.context, process: transaction.who?.process, origin: nil,
            flags: transaction.flags, changes: [])
    }

    func token(of number: Int64, time: Timestamp) -> Token {
        Token(store: store, epoch: epoch, number: number, time: time)
    }

    /// What callers see of one change of transaction `number`.
    func resolve(
        _ change: NetChange, in number: Int64, naming: Naming = .then
    ) throws -> Change {
        let entity = change.entity
        let present = naming == .now ? try names(of: entity) : nil
        let incarnation =
            change.kind == .insert
            ? number : try incarnation(of: entity, key: change.key, before: change.seq)
        let names = present?.columns ?? entity.columnNames
        var result = Change(
            seq: change.seq,
            object: ObjectID(
                store: store, entity: present?.entity ?? entity.name, key: change.key,
                incarnation: incarnation),
            kind: change.kind,
            properties: change.mask.positions.filter { $0 < names.count }.map { names[$0] },
            tombstone: change.kind == .delete
                ? entity.tombstone(key: change.key, kept: change.kept, names: names) : nil,
            oldValues: oldValues(of: change, names),
            cause: try cause(of: change, in: number, naming: naming))
        result.addedLater = present?.added ?? []
        return result
    }

    /// What the table of an entity and its columns are called now, or were when it was dropped.
    private func names(of entity: TrackedEntity) throws -> PresentNames? {
        guard let present = catalog.latest(of: entity.lineage) else { return nil }
        if let known = presentNames[[entity.id, present.id]] { return known }
        let names = try catalog.names(of: entity.id, in: present).map {
            PresentNames($0, of: entity, in: present)
        }
        presentNames[[entity.id, present.id]] = names
        return names
    }

    private func name(of entity: TrackedEntity, _ naming: Naming) throws -> String {
        naming == .now ? try names(of: entity)?.entity ?? entity.name : entity.name
    }

    private func oldValues(of change: NetChange, _ names: [String]) -> NamedValues? {
        guard !change.old.isEmpty else { return nil }
        return NamedValues(
            zip(change.mask.positions, change.old).filter { $0.0 < names.count }.map {
                NamedValues.Pair(name: names[$0.0], value: $0.1)
            })
    }

    private func cause(
        of change: NetChange, in number: Int64, naming: Naming
    ) throws -> Change.Cause {
        switch change.cause {
        case .direct: return .direct
        case .replace: return .replace
        case .merge: return .merge
        case .cascade(let id, let key):
            guard let entity = try catalog.entity(id) else { return .direct }
            return .cascade(
                of: ObjectID(
                    store: store, entity: try name(of: entity, naming), key: key,
                    incarnation: try incarnation(of: entity, key: key, before: change.seq)))
        case .renumbered(let key):
            // The object that a deleted one became was made by this very transaction.
            let incarnation =
                change.kind == .delete
                ? number : try incarnation(of: change.entity, key: key, before: change.seq)
            return .renumbered(
                ObjectID(
                    store: store, entity: try name(of: change.entity, naming), key: key,
                    incarnation: incarnation))
        }
    }

    /// The number of the transaction that inserted the object that `key` named just before `seq`.
    func incarnation(
        of entity: TrackedEntity, key: ObjectKey, before seq: Int64
    ) throws -> Int64 {
        let name = ObjectName(entity: entity.folded, key: key)
        if let number = births.number(name, before: seq) { return number }
        var newest: Int64 = 0
        for id in catalog.ids(named: entity.folded) {
            findInsert.bind(NetChange.storedKey(key), at: 1)
            findInsert.bind(id << 3 | Int64(Change.Kind.insert.rawValue), at: 2)
            findInsert.bind(seq - 1, at: 3)
            if try findInsert.step() { newest = max(newest, findInsert.integer(0)) }
            findInsert.reset()
        }
        guard newest > 0 else { return 0 }
        findNumber.bind(newest, at: 1)
        defer { findNumber.reset() }
        return try findNumber.step() ? findNumber.integer(0) : 0
    }
}
