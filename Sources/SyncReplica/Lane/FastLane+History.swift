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
        let cells: CellSet
        /// The columns of these that the slice has changed, ascending; known once its rows are
        /// written.
        fileprivate(set) var columns: [Int] = []
        /// Whether no transaction of the slice before it has changed one of them.
        fileprivate(set) var isFirst = true
    }

    /// What the slice writes to in the row of a known object.
    struct Row {
        let columns: [Int]
        /// Those of the columns, before the slice.
        let values: [Value]
        /// Those of the columns that differ after it, ascending; known once it is written.
        fileprivate(set) var changed: [Int] = []

        /// The value of a column before the slice.
        func value(of column: Int) -> Value? {
            columns.firstIndex(of: column).map { values[$0] }
        }
    }

    /// By transaction.
    fileprivate(set) var items: [[Item]] = []
    /// By the position of the object among the arrivals.
    fileprivate(set) var rows: [Int: Row] = [:]
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
        var written = [CellSet](repeating: CellSet(), count: arrivals.count)
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
                    items.append(LaneHistory.Item(arrival: place, cells: CellSet()))
                    continue
                }
                // What the sender wrote into a row that is new here is part of its insert.
                if arrivals[place].isNew { continue }
                var cells = CellSet()
                for cell in change.cells where cell < CellSet.countMax { cells.insert(cell) }
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

    /// Reads the columns that are written to, before they are.
    /// - Throws: SQLite errors.
    /// - Complexity: O(updates)
    func readOldRows() throws {
        for (place, arrival) in arrivals.enumerated() where !arrival.isNew && !arrival.shown.isEmpty
        {
            guard let entity = lane.entities[arrival.entity] else { continue }
            history.rows[place] = LaneHistory.Row(
                columns: entity.columns(of: arrival.shown), values: try values(of: arrival, entity))
        }
    }

    /// The values of the columns that are written to; none where there is no row.
    private func values(of arrival: Arrival, _ entity: LaneEntity) throws -> [Value] {
        let select = try lane.select(arrival.shown, of: entity)
        select.bind(arrival.shownKey)
        defer { select.reset() }
        guard try select.step() else { return [] }
        return entity.columns(of: arrival.shown).indices.map { select.value(Int32($0)) }
    }

    private func trackedEntities() throws -> [TrackedEntity?] {
        let present = storage.history.catalog.present
        return storage.schema.tables.map { table in
            present.first { SQLName.isEqual($0.name, to: table.name) }
        }
    }

    /// Leaves the columns to each update that differ, and drops those without any: a version that
    /// is not shown, or is as it was, changes nothing here.
    /// - Throws: SQLite errors.
    /// - Complexity: O(updates + changes)
    func keepChanges() throws {
        for (place, row) in history.rows {
            guard let entity = lane.entities[arrivals[place].entity] else { continue }
            let after = try values(of: arrivals[place], entity)
            history.rows[place]?.changed = zip(row.columns, zip(row.values, after))
                .filter { $1.0 != $1.1 }.map(\.0).sorted()
        }
        var written: [Int: Set<Int>] = [:]
        for position in history.items.indices {
            history.items[position] = history.items[position].compactMap { item in
                guard !item.cells.isEmpty else { return item }
                guard let row = history.rows[item.arrival], !row.changed.isEmpty,
                    let entity = lane.entities[arrivals[item.arrival].entity]
                else { return nil }
                let named = entity.columns(of: item.cells)
                var item = item
                item.columns = row.changed.filter(named.contains)
                if item.columns.isEmpty { return nil }
                item.isFirst = written[item.arrival, default: []].isDisjoint(with: item.columns)
                written[item.arrival, default: []].formUnion(item.columns)
                return item
            }
        }
    }

    /// Writes the transactions to history, after the rows, where the lane has taken the whole
    /// slice.
    /// - Throws: SQLite errors.
    /// - Complexity: O(changes)
    func writeHistory() throws {
        let changes = try changes()
        let writer = MergedHistory(
            schema: storage.schema, history: storage.history,
            replica: transaction.identity.replica, wall: transaction.environment.wall(),
            before: { _ in nil }, after: { _ in nil })
        for (entry, items) in zip(fresh, history.items) {
            let numbers = storage.history.allocate(items.count)
            let written = zip(items, numbers).compactMap { changes.change($0, seq: $1) }
            try writer.write(written, numbers: numbers, of: entry)
        }
    }

    /// What the lane has changed, for history.
    /// - Throws: SQLite errors.
    func changes() throws -> LaneChanges {
        let tracked = try trackedEntities()
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
}
