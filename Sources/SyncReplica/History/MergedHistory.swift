import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

/// Writes merged transactions to local history, and what the view changed beyond them.
///
/// Each difference of the tables is written at least once: under the transaction that made it, or
/// else in one local transaction flagged `repair`. An update has the columns that differ, so that
/// no transaction counts as the author of a value that another one overrides: one whose changes are
/// not visible here is written without changes. Decisions of this replica have all that they name:
/// also one that confirms what is shown is its author.
struct MergedHistory {
    private let schema: ReplicaSchema
    private let history: LocalHistory
    private let replica: ReplicaID
    private let wall: Int64
    private let moves: KeyMoves
    private let before: (ObjectUID) -> [Value]?
    private let after: (ObjectUID) -> [Value]?
    private var written = Written()

    /// The differences that are in history already.
    private struct Written {
        var inserted: Set<RowKey> = []
        var deleted: Set<RowKey> = []
        var updated: [RowKey: Set<Int>] = [:]
    }

    /// One change of one row.
    private struct Item {
        let key: RowKey
        let kind: Change.Kind
        var columns: Set<Int> = []
        /// Of a delete: the row as it was. Of an update: the same, where each of `columns` had that
        /// value before the transaction; otherwise empty.
        var row: [Value] = []
        var cause = NetChange.Cause.merge
    }

    /// A change of a transaction, by the lane that made it.
    private enum Step {
        case general(Item)
        case beside(ChangesBeside.Item)
    }

    /// - Parameters:
    ///   - replica: this one; its transactions are local, and have no origin.
    ///   - moves: the rows that have another number than before.
    ///   - before: the key of the row that showed an object before the merge.
    ///   - after: the key of the row that shows it now.
    init(
        schema: ReplicaSchema, history: LocalHistory, replica: ReplicaID, wall: Int64,
        moves: KeyMoves = KeyMoves(), before: @escaping (ObjectUID) -> [Value]?,
        after: @escaping (ObjectUID) -> [Value]?
    ) {
        self.schema = schema
        self.history = history
        self.replica = replica
        self.wall = wall
        self.moves = moves
        self.before = before
        self.after = after
    }

    /// Writes the transactions, then the differences that none of them made.
    /// - Parameter lane: what is in the tables already, and not among the differences.
    /// - Throws: SQLite errors.
    /// - Complexity: O(changes + differences)
    func write(
        _ transactions: [Batch.Transaction], differences: [RowKey: RowDifference],
        beside lane: ChangesBeside? = nil
    ) throws {
        var copy = self
        let entities = try copy.trackedEntities()
        let taken = lane?.objects ?? []
        var merged: [NetTransaction] = []
        for transaction in transactions {
            let isOwn = transaction.header.dot.replica == replica
            guard let lane else {
                let items = transaction.changes.flatMap {
                    copy.items(of: $0, isOwn: isOwn, in: differences)
                }
                let (numbers, changes) = copy.changes(of: items, entities)
                merged.append(copy.transaction(of: transaction, changes, numbers: numbers))
                continue
            }
            var steps: [Step] = []
            var own = lane.items(transaction.header.dot)[...]
            for change in transaction.changes {
                guard taken.contains(change.object) else {
                    steps += copy.items(of: change, isOwn: isOwn, in: differences)
                        .map(Step.general)
                    continue
                }
                guard let item = own.first, item.object == change.object else { continue }
                own.removeFirst()
                steps.append(.beside(item))
            }
            let numbers = history.allocate(steps.count)
            let changes = zip(steps, numbers).compactMap { step, seq in
                switch step {
                case .general(let item):
                    entities[item.key.entity].map { copy.change(of: item, entity: $0, seq: seq) }
                case .beside(let item): item.change(seq)
                }
            }
            merged.append(copy.transaction(of: transaction, changes, numbers: numbers))
        }
        let rest = copy.remainder(of: differences)
        if !rest.isEmpty {
            let (numbers, changes) = copy.changes(of: rest, entities)
            merged.append(
                NetTransaction(
                    first: numbers.lowerBound, number: numbers.upperBound,
                    time: Timestamp(milliseconds: wall), who: nil, flags: .repair,
                    changes: changes))
        }
        try history.write(merged)
    }

    /// A merged transaction with what it changed here.
    /// - Parameter numbers: from ``LocalHistory/allocate(_:)``, one for each change.
    func transaction(
        of transaction: Batch.Transaction, _ changes: [NetChange], numbers: ClosedRange<Int64>
    ) -> NetTransaction {
        let header = transaction.header
        let time = Timestamp(milliseconds: header.time.milliseconds)
        let process = transaction.pid.map {
            Transaction.Process(pid: $0, name: transaction.process)
        }
        let who = LogRecord.Marker(
            isEnd: false, author: transaction.author, context: transaction.context,
            process: process)
        let flags = Transaction.Flags(rawValue: Int(truncatingIfNeeded: transaction.flags))
        let isLocal = header.dot.replica == replica
        return NetTransaction(
            first: numbers.lowerBound, number: numbers.upperBound, time: time, who: who,
            flags: isLocal ? flags : flags.union(.remote), changes: changes,
            origin: isLocal
                ? nil
                : .init(replica: header.dot.replica, number: header.dot.number, time: time))
    }

    private func trackedEntities() throws -> [TrackedEntity?] {
        let present = history.catalog.present
        return schema.tables.map { table in
            present.first { SQLName.isEqual($0.name, to: table.name) }
        }
    }

    /// What a merged change did to the tables here.
    private mutating func items(
        of change: Batch.Change, isOwn: Bool, in differences: [RowKey: RowDifference]
    ) -> [Item] {
        guard schema.tables.indices.contains(change.entity) else { return [] }
        let old = before(change.object).map { schema.merge.key(change.entity, $0) }
        let new = after(change.object).map { schema.merge.key(change.entity, $0) }
        switch change.kind {
        case .delete: return [old.flatMap { delete($0, in: differences) }].compactMap { $0 }
        case .insert: return new.map { arrival(at: $0, in: differences) } ?? []
        case .update:
            guard let new, let old else { return [] }
            if old != new, moves.hasLeft(old), !written.inserted.contains(new) {
                return [delete(old, in: differences)].compactMap { $0 }
                    + arrival(at: new, in: differences)
            }
            // It was a part of another row, and has one of its own now.
            if old != new, !written.inserted.contains(new), let difference = differences[new],
                difference.before == nil, difference.after != nil
            {
                return arrival(at: new, in: differences)
            }
            let cells = schema.merge.entities[change.entity].cells
            var columns = Set(
                change.cells.filter(cells.indices.contains).flatMap { cells[$0] })
            // A row that was not at this key before has nothing to compare.
            if !isOwn, old == new {
                columns.formIntersection(differences[new]?.columns ?? [])
            }
            return [update(of: columns, at: new, from: differences[new])].compactMap { $0 }
        }
    }

    /// The row that had a key is gone, or has another number now.
    private mutating func delete(
        _ key: RowKey, in differences: [RowKey: RowDifference]
    ) -> Item? {
        guard let difference = differences[key], let row = difference.before,
            difference.after == nil || moves.hasLeft(key), written.deleted.insert(key).inserted
        else { return nil }
        var item = Item(key: key, kind: .delete, row: row)
        if let new = moves.newKey(of: key) { item.cause = .renumbered(ObjectKey(new.values)) }
        return item
    }

    /// A row is new at a key; one that was there before, and has another number now, leaves first.
    private mutating func arrival(
        at key: RowKey, in differences: [RowKey: RowDifference]
    ) -> [Item] {
        guard let difference = differences[key], difference.after != nil else { return [] }
        guard difference.before == nil || moves.hasLeft(key) else {
            return [update(of: Set(difference.columns), at: key, from: difference)]
                .compactMap { $0 }
        }
        let leaving = difference.before == nil ? nil : delete(key, in: differences)
        guard written.inserted.insert(key).inserted else { return [] }
        var item = Item(key: key, kind: .insert)
        if let old = moves.formerKey(of: key) { item.cause = .renumbered(ObjectKey(old.values)) }
        return [leaving, item].compactMap { $0 }
    }

    /// Of several transactions that write one column the first has its old value: what the later
    /// ones found is in no batch.
    private mutating func update(
        of columns: Set<Int>, at key: RowKey, from difference: RowDifference?
    ) -> Item? {
        guard !columns.isEmpty else { return nil }
        let isFirst = written.updated[key, default: []].isDisjoint(with: columns)
        written.updated[key, default: []].formUnion(columns)
        return Item(
            key: key, kind: .update, columns: columns,
            row: isFirst ? difference?.before ?? [] : [])
    }

    /// The differences that no merged transaction made.
    private mutating func remainder(of differences: [RowKey: RowDifference]) -> [Item] {
        var items: [Item] = []
        for (key, difference) in differences.sorted(by: { $0.key.precedes($1.key) }) {
            if difference.before == nil || difference.after == nil || moves.hasLeft(key) {
                if let item = delete(key, in: differences) { items.append(item) }
                items += written.inserted.contains(key) ? [] : arrival(at: key, in: differences)
                continue
            }
            let columns = Set(difference.columns).subtracting(written.updated[key] ?? [])
            if !columns.isEmpty {
                items.append(
                    Item(
                        key: key, kind: .update, columns: columns, row: difference.before ?? []))
            }
        }
        return items
    }

    private func changes(
        of items: [Item], _ entities: [TrackedEntity?]
    ) -> (numbers: ClosedRange<Int64>, changes: [NetChange]) {
        let numbers = history.allocate(items.count)
        let changes = zip(items, numbers).compactMap { item, seq in
            entities[item.key.entity].map { change(of: item, entity: $0, seq: seq) }
        }
        return (numbers, changes)
    }

    private func change(of item: Item, entity: TrackedEntity, seq: Int64) -> NetChange {
        var change = NetChange(
            seq: seq, entity: entity, key: ObjectKey(item.key.values), kind: item.kind)
        change.cause = item.cause
        for column in item.columns {
            let name = SQLName.folded(schema.tables[item.key.entity].columns[column])
            if let place = entity.columnNames.firstIndex(where: { SQLName.folded($0) == name }) {
                change.mask.insert(place)
            }
        }
        if item.kind == .update, entity.keepsOldValues, !item.row.isEmpty {
            change.old = values(of: item, at: change.mask.positions, entity: entity)
        }
        if item.kind == .delete {
            change.kept = values(of: item, at: entity.layout.kept, entity: entity)
        }
        return change
    }

    /// The values of columns of the log, as the row had them.
    private func values(of item: Item, at places: [Int], entity: TrackedEntity) -> [Value] {
        places.map { place in
            schema.column(entity.columnNames[place], of: item.key.entity).map { item.row[$0] }
                ?? .null
        }
    }
}
