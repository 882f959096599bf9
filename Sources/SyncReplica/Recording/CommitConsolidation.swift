import SyncCore
import SyncMerge
import SyncValues

/// Several local transactions as one commit: what they did to each row, and which of them did it
/// last.
///
/// *Former* rows are those that existed before the first of the transactions. Each row is followed
/// from key to key: `origins` has the former row of every key in use, if there is one.
struct CommitConsolidation {
    /// The transactions that deleted, inserted and wrote the rows.
    private(set) var dates = Commit.Dates()
    /// Keys that were deleted and inserted again.
    private(set) var recreated: Set<RowKey> = []
    /// The former keys of rows that have a new one.
    private(set) var rekeyed: [RowKey: RowKey] = [:]
    /// Every key that a change names.
    private(set) var touched: Set<RowKey> = []
    /// By key, the last insert or change of a key that put a row there.
    private(set) var arrivals: [RowKey: ObjectBirth] = [:]
    /// The insert of each row that is new.
    private(set) var births: [RowKey: ObjectBirth] = [:]
    /// The changes of each transaction, in order, by the keys that the rows had then.
    private(set) var changes: [[KeyedChange]] = []

    /// A change by key; `birth` tells objects with one key apart.
    struct KeyedChange {
        let key: RowKey
        let kind: ChangeKind
        let cells: [Int]
        /// The former row; nil for the row of `birth`.
        let origin: RowKey?
        let birth: ObjectBirth?
    }

    private enum Origin {
        case former(RowKey)
        case new(ObjectBirth)
    }

    private var origins: [RowKey: Origin] = [:]
    /// Rows between the delete and the insert of a change of their key, by the former key.
    private var moving: [RowKey: Origin] = [:]
    private var ended: Set<RowKey> = []
    private let schema: ReplicaSchema

    /// - Parameters:
    ///   - entries: transactions of `replica`, in order.
    ///   - tables: what their changes are about.
    ///   - isPresent: whether a former row has the key.
    ///   - exists: whether a row has the key after the transactions.
    /// - Complexity: O(changes)
    init(
        of entries: [UnrecordedTransactions.Entry], schema: ReplicaSchema, tables: LoggedTables,
        replica: ReplicaID, isPresent: (RowKey) -> Bool, exists: (RowKey) -> Bool
    ) {
        self.schema = schema
        for entry in entries {
            let dot = Dot(replica, entry.number)
            var keyed: [KeyedChange] = []
            for change in entry.changes {
                guard let map = tables[change.entity] else { continue }
                let key = schema.merge.key(map.position, change.key.values)
                touched.insert(key)
                let step = Step(
                    change: change, key: key, dot: dot,
                    birth: ObjectBirth(
                        seq: change.seq,
                        time: entry.time(change.written.first?.ageMilliseconds ?? 0)))
                switch change.kind {
                case .insert: keyed.append(insert(step))
                case .update: keyed.append(update(step, columns: map.columns))
                case .delete: keyed.append(delete(step))
                }
            }
            changes.append(keyed)
        }
        finish(isPresent: isPresent, exists: exists)
    }

    /// A change with its transaction.
    private struct Step {
        let change: NetChange
        let key: RowKey
        let dot: Dot
        let birth: ObjectBirth
    }

    private mutating func insert(_ step: Step) -> KeyedChange {
        let key = step.key
        var origin = Origin.new(step.birth)
        if case .renumbered(let old) = step.change.cause {
            let former = schema.merge.key(key.entity, old.values)
            if let moved = moving.removeValue(forKey: former) { origin = moved }
        }
        origins[key] = origin
        arrivals[key] = step.birth
        dates.inserted[key] = step.dot
        dates.written[key] = nil
        return keyed(.insert, of: key, origin: origin)
    }

    private mutating func update(_ step: Step, columns: [Int?]) -> KeyedChange {
        let key = step.key
        let written = step.change.mask.positions.compactMap {
            $0 < columns.count ? columns[$0] : nil
        }
        for column in written { dates.written[key, default: [:]][column] = step.dot }
        let entity = schema.merge.entities[key.entity]
        let cells = Set(written.compactMap { entity.cellOfColumn[$0] }).sorted()
        return keyed(.update, of: key, cells: cells, origin: origins[key] ?? .former(key))
    }

    private mutating func delete(_ step: Step) -> KeyedChange {
        let key = step.key
        let origin = origins[key] ?? .former(key)
        origins[key] = nil
        if case .renumbered = step.change.cause {
            moving[key] = origin
        } else if case .former(let old) = origin {
            ended.insert(old)
            dates.deleted[old] = step.dot
        }
        if case .former(let old) = origin, dates.deleted[old] == nil {
            dates.deleted[old] = step.dot
        }
        arrivals[key] = nil
        dates.inserted[key] = nil
        dates.written[key] = nil
        return keyed(.delete, of: key, origin: origin)
    }

    private func keyed(
        _ kind: ChangeKind, of key: RowKey, cells: [Int] = [], origin: Origin
    ) -> KeyedChange {
        switch origin {
        case .former(let old):
            return KeyedChange(key: key, kind: kind, cells: cells, origin: old, birth: nil)
        case .new(let birth):
            return KeyedChange(key: key, kind: kind, cells: cells, origin: nil, birth: birth)
        }
    }

    /// Finds recreated and rekeyed rows. A key is the new key of a former row only where the former
    /// key is not in use afterwards, and the new one was not in use before: a rotation of keys is a
    /// change of values.
    private mutating func finish(isPresent: (RowKey) -> Bool, exists: (RowKey) -> Bool) {
        var moved: [(key: RowKey, old: RowKey)] = []
        for (key, origin) in origins {
            switch origin {
            case .new(let birth):
                births[key] = birth
                if isPresent(key), ended.contains(key) { recreated.insert(key) }
            case .former(let old):
                if old != key, isPresent(old), !isPresent(key), !exists(old), exists(key) {
                    moved.append((key, old))
                }
            }
        }
        var taken: Set<RowKey> = []
        for (key, old) in moved.sorted(by: { $0.key.precedes($1.key) })
        where taken.insert(old).inserted {
            rekeyed[key] = old
        }
    }
}
