import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

/// Several local transactions as one commit: what they did to each row, and which of them did it
/// last.
///
/// Follows each row from key to key: `origins` says of every key that is in use which row of
/// before it is, if any.
struct CommitConsolidation {
    /// What became of the rows, with dates.
    private(set) var dates = Commit.Dates()
    /// Keys that were deleted and inserted again.
    private(set) var recreated: Set<RowKey> = []
    /// New keys of rows of before.
    private(set) var rekeyed: [RowKey: RowKey] = [:]
    /// Every key that was touched.
    private(set) var touched: Set<RowKey> = []
    /// By key, what brought the row there last: an insert, or a change of the key.
    private(set) var arrivals: [RowKey: HistoryTail.Birth] = [:]
    /// The insert of each row that is new.
    private(set) var births: [RowKey: HistoryTail.Birth] = [:]
    /// By transaction, in their order: what history tells, by the keys of the time.
    private(set) var changes: [[KeyedChange]] = []

    /// A change by key; `birth` tells objects with one key apart.
    struct KeyedChange {
        let key: RowKey
        let kind: Batch.Change.Kind
        let cells: [Int]
        /// The row of before that it is about; nil: it is of `birth`.
        let origin: RowKey?
        let birth: HistoryTail.Birth?
    }

    private enum Origin {
        case before(RowKey)
        case new(HistoryTail.Birth)
    }

    private var origins: [RowKey: Origin] = [:]
    private var ended: Set<RowKey> = []
    private let schema: ReplicaSchema
    /// By entity of the log: position, and for each column of its layout ours.
    private var maps: [Int64: (position: Int, columns: [Int?])?] = [:]

    /// - Parameter isPresent: whether a row of before had the key.
    init(
        _ entries: [HistoryTail.Entry], _ schema: ReplicaSchema, replica: ReplicaID,
        isPresent: (RowKey) -> Bool, exists: (RowKey) -> Bool
    ) {
        self.schema = schema
        for entry in entries {
            let dot = Dot(replica, entry.number)
            var told: [KeyedChange] = []
            for change in entry.changes {
                guard let map = map(change.entity) else { continue }
                let key = RowKey(entity: map.position, change.key.values)
                touched.insert(key)
                take(change, key, map.columns, dot, entry, isPresent, &told)
            }
            changes.append(told)
        }
        finish(isPresent, exists)
    }

    private mutating func take(
        _ change: NetChange, _ key: RowKey, _ columns: [Int?], _ dot: Dot,
        _ entry: HistoryTail.Entry, _ isPresent: (RowKey) -> Bool, _ told: inout [KeyedChange]
    ) {
        switch change.kind {
        case .insert:
            var origin = Origin.new(HistoryTail.Birth(entry, change.seq))
            if case .renumbered(let old) = change.cause {
                let former = RowKey(entity: key.entity, old.values)
                if let moved = moving.removeValue(forKey: former) { origin = moved }
            }
            origins[key] = origin
            arrivals[key] = HistoryTail.Birth(entry, change.seq)
            dates.inserted[key] = dot
            dates.written[key] = nil
            told.append(keyed(key, .insert, [], origin))
        case .update:
            let origin = origins[key] ?? .before(key)
            let written = change.mask.positions.compactMap {
                $0 < columns.count ? columns[$0] : nil
            }
            for column in written { dates.written[key, default: [:]][column] = dot }
            let entity = schema.merge.entities[key.entity]
            let cells = Set(written.compactMap { entity.cellOfColumn[$0] }).sorted()
            told.append(keyed(key, .update, cells, origin))
        case .delete:
            let origin = origins[key] ?? .before(key)
            origins[key] = nil
            if case .renumbered = change.cause {
                moving[key] = origin
            } else if case .before(let old) = origin {
                ended.insert(old)
                dates.deleted[old] = dot
            }
            if case .before(let old) = origin, dates.deleted[old] == nil {
                dates.deleted[old] = dot
            }
            arrivals[key] = nil
            dates.inserted[key] = nil
            dates.written[key] = nil
            told.append(keyed(key, .delete, [], origin))
        }
    }

    private var moving: [RowKey: Origin] = [:]

    private func keyed(
        _ key: RowKey, _ kind: Batch.Change.Kind, _ cells: [Int], _ origin: Origin
    ) -> KeyedChange {
        switch origin {
        case .before(let old):
            return KeyedChange(key: key, kind: kind, cells: cells, origin: old, birth: nil)
        case .new(let birth):
            return KeyedChange(key: key, kind: kind, cells: cells, origin: nil, birth: birth)
        }
    }

    /// What is left in the end. A key is taken for the new key of an old row only where the old
    /// one is not used after, and the new one was not used before: a rotation of keys is a change
    /// of values.
    private mutating func finish(
        _ isPresent: (RowKey) -> Bool, _ exists: (RowKey) -> Bool
    ) {
        var taken: Set<RowKey> = []
        for (key, origin) in origins.sorted(by: { $0.key.precedes($1.key) }) {
            switch origin {
            case .new(let birth):
                births[key] = birth
                if isPresent(key), ended.contains(key) { recreated.insert(key) }
            case .before(let old):
                guard old != key, isPresent(old), !isPresent(key), !exists(old), exists(key),
                    taken.insert(old).inserted
                else { continue }
                rekeyed[key] = old
            }
        }
    }

    private mutating func map(_ entity: TrackedEntity) -> (position: Int, columns: [Int?])? {
        if let known = maps[entity.id] { return known }
        var map: (position: Int, columns: [Int?])?
        if let position = schema.position(of: entity.name),
            schema.tables[position].key.count == entity.keyCount
        {
            map = (position, entity.columnNames.map { schema.column($0, of: position) })
        }
        maps[entity.id] = .some(map)
        return map
    }
}

extension HistoryTail {
    /// The insert that an object began with: the same in every copy of the file that has it.
    struct Birth: Hashable {
        /// The log row of the insert.
        let seq: Int64
        /// When the transaction was written.
        let time: Timestamp

        init(_ entry: Entry, _ seq: Int64) {
            self.seq = seq
            time = entry.time
        }

        /// Stands for no insert: of a row that was there when a database joined another store.
        static let beforeJoin = Birth(seq: -1, time: Timestamp(milliseconds: 0))

        private init(seq: Int64, time: Timestamp) {
            self.seq = seq
            self.time = time
        }
    }
}

extension RowKey {
    /// An order that does not depend on how rows were read.
    func precedes(_ other: RowKey) -> Bool {
        if entity != other.entity { return entity < other.entity }
        for (left, right) in zip(values, other.values) {
            if left == right { continue }
            if case .integer(let left) = left, case .integer(let right) = right {
                return left < right
            }
            return left.description < right.description
        }
        return values.count < other.values.count
    }
}
