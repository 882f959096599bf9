import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

/// The changes of a slice's transactions in local history: as ``MergedHistory`` writes them, which
/// finds them from rows.
struct LaneHistory {
    /// One change of one object.
    struct Item {
        /// The position of its object among the arrivals.
        let arrival: Int
        /// The written cells; none: an insert.
        let cells: PositionSet
        /// The columns of these that the slice has changed; known once its rows are written.
        fileprivate(set) var columns = PositionSet()
        /// Whether no transaction of the slice before it has changed one of them.
        fileprivate(set) var isFirst = true
    }

    /// What the slice changes in the row of a known object.
    struct Row {
        var changed = PositionSet()
        /// Where the table keeps old values: those of the changed columns.
        var old: [(column: Int, value: Value)] = []
    }

    /// By transaction.
    fileprivate(set) var items: [[Item]] = []
    /// By the position of the object among the arrivals; known once the rows are written.
    var rows: [Row] = []
}

extension FastLane {
    /// Finds the changes of the slice.
    /// - Returns: a reason where rows change beyond what the transactions say.
    func findHistory() -> LaneReason? {
        var places: [ObjectUID: Int] = [:]
        places.reserveCapacity(arrivals.count)
        for (place, arrival) in arrivals.enumerated() { places[arrival.uid] = place }
        // Two positions in the batch for one object.
        guard places.count == arrivals.count, !arrivals.contains(where: { refusals[$0.uid] != nil })
        else { return .versions }
        var written = [PositionSet](repeating: PositionSet(), count: arrivals.count)
        var isInserted = [Bool](repeating: false, count: arrivals.count)
        for entry in fresh {
            var items: [LaneHistory.Item] = []
            items.reserveCapacity(entry.changes.count)
            for change in entry.changes {
                if !refusals.isEmpty, refusals[change.object] != nil { continue }
                guard change.kind != .delete else { return .life }
                guard let place = places[change.object] else {
                    // It is overwritten by a later slice: no row shows it, nor is it loaded, unless
                    // another object refers to it.
                    guard !hasReferences, refusals.isEmpty else { return .incomplete }
                    continue
                }
                guard entityOfTheirs[change.entity] == arrivals[place].entity else { return .life }
                if change.kind == .insert {
                    guard arrivals[place].isNew, !isInserted[place] else { return .life }
                    isInserted[place] = true
                    items.append(LaneHistory.Item(arrival: place, cells: PositionSet()))
                    continue
                }
                // What the sender wrote into a row that is new here is part of its insert.
                if arrivals[place].isNew { continue }
                var cells = PositionSet()
                for cell in change.cells where cell < PositionSet.cellsMax { cells.insert(cell) }
                guard !cells.isEmpty else { continue }
                items.append(LaneHistory.Item(arrival: place, cells: cells))
                written[place].formUnion(cells)
            }
            history.items.append(items)
        }
        for (place, arrival) in arrivals.enumerated() {
            let isWhole =
                arrival.isNew ? isInserted[place] : arrival.cells.isSubset(of: written[place])
            if !isWhole { return .incomplete }
        }
        return nil
    }

    private var hasReferences: Bool {
        arrivals.contains { lane.entities[$0.entity]?.hasReferences ?? false }
    }

    /// Leaves the columns to each update that differ, and drops those without any: a version that
    /// is not shown, or is as it was, changes nothing here.
    /// - Complexity: O(changes)
    func keepChanges() {
        var written = [PositionSet](repeating: PositionSet(), count: arrivals.count)
        for position in history.items.indices {
            history.items[position] = history.items[position].compactMap { item in
                guard !item.cells.isEmpty else { return item }
                guard let entity = lane.entities[arrivals[item.arrival].entity] else { return nil }
                var item = item
                item.columns = history.rows[item.arrival].changed.intersection(
                    entity.columnSet(of: item.cells))
                if item.columns.isEmpty { return nil }
                item.isFirst = !written[item.arrival].intersects(item.columns)
                written[item.arrival].formUnion(item.columns)
                return item
            }
        }
    }

    /// Writes the transactions to history, after the rows, where the lane has taken the whole
    /// slice.
    /// - Throws: SQLite errors.
    /// - Complexity: O(changes)
    func writeHistory() throws {
        var changes = changes()
        let writer = MergedHistory(
            schema: storage.schema, history: storage.history,
            replica: transaction.identity.replica, wall: transaction.environment.wall(),
            before: { _ in nil }, after: { _ in nil })
        let transactions = zip(fresh, history.items).map { entry, items in
            writer.transaction(of: entry, [], numbers: storage.history.allocate(items.count))
        }
        try storage.history.write(transactions) { rows in
            for (transaction, items) in zip(transactions, history.items) {
                var seq = transaction.first
                for item in items {
                    try changes.write(item, seq: seq, to: rows)
                    seq += 1
                }
            }
        }
    }

    /// What the lane has changed, for history.
    func changes() -> LaneChanges {
        let places = tracked.enumerated().map { entity, tracked in
            tracked.map { columnPlaces(of: entity, $0) } ?? []
        }
        return LaneChanges(self, tracked: tracked, places: places)
    }

    /// By column: its place in the log.
    private func columnPlaces(of entity: Int, _ tracked: TrackedEntity) -> [Int?] {
        storage.schema.tables[entity].columns.map { column in
            let name = SQLName.folded(column)
            return tracked.columnNames.firstIndex { SQLName.folded($0) == name }
        }
    }
}

extension FastLane.Arrival {
    /// The key of its row.
    var shownKey: [Value] { key.isEmpty ? [.integer(number)] : key }

    /// The same, as history has it.
    var storedKey: Value {
        key.isEmpty ? .integer(number) : StoredKey.value(of: key, as: .bare)
    }
}
