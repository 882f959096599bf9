import SyncCore
import SyncMerge

/// The changes that the fast lane has made, as history has them.
struct LaneChanges {
    private let lane: FastLane
    private let tracked: [TrackedEntity?]
    /// By entity and column: its place in the log.
    private let places: [[Int?]]
    /// What the update was stored with that was written last: nearly always the next one, too.
    private var last: (entity: Int, columns: PositionSet, data: [UInt8])?

    init(_ lane: FastLane, tracked: [TrackedEntity?], places: [[Int?]]) {
        self.lane = lane
        self.tracked = tracked
        self.places = places
    }

    /// The changes for the general lane, which has the rest of the slice.
    var beside: ChangesBeside {
        let places = Dictionary(
            lane.fresh.enumerated().map { ($0.element.header.dot, $0.offset) }
        ) { first, _ in first }
        return ChangesBeside(
            objects: Set(lane.arrivals.map(\.uid)),
            items: { dot in
                let items = places[dot].map { lane.history.items[$0] } ?? []
                return items.map { item in
                    ChangesBeside.Item(object: lane.arrivals[item.arrival].uid) {
                        change(item, seq: $0)
                    }
                }
            },
            writeConflicts: lane.writeConflicts)
    }

    /// Writes a change where its table is tracked.
    /// - Throws: SQLite errors.
    mutating func write(
        _ item: LaneHistory.Item, seq: Int64, to rows: HistoryWriter
    ) throws {
        let position = lane.arrivals[item.arrival].entity
        guard let entity = tracked[position] else { return }
        if entity.keepsOldValues {
            if let change = change(item, seq: seq) { try rows.add(change) }
            return
        }
        let key = lane.arrivals[item.arrival].storedKey
        if item.cells.isEmpty {
            return try rows.add(
                seq, .insert, of: entity, key: key, data: NetChange.mergedInsert)
        }
        if let last, last.entity == position, last.columns == item.columns {
            return try rows.add(seq, .update, of: entity, key: key, data: last.data)
        }
        let data = NetChange.mergedUpdate(of: mask(of: item.columns, entity: position))
        last = (position, item.columns, data)
        try rows.add(seq, .update, of: entity, key: key, data: data)
    }

    private func mask(of columns: PositionSet, entity: Int) -> ColumnMask {
        var mask = ColumnMask()
        for column in columns.positions { places[entity][column].map { mask.insert($0) } }
        return mask
    }

    /// A change as history has it; nil where its table is not tracked.
    func change(_ item: LaneHistory.Item, seq: Int64) -> NetChange? {
        let arrival = lane.arrivals[item.arrival]
        guard let entity = tracked[arrival.entity] else { return nil }
        let places = places[arrival.entity]
        let isInsert = item.cells.isEmpty
        var change = NetChange(
            seq: seq, entity: entity, key: ObjectKey(arrival.shownKey),
            kind: isInsert ? .insert : .update)
        change.cause = .merge
        if isInsert { return change }
        change.mask = mask(of: item.columns, entity: arrival.entity)
        if item.isFirst, entity.keepsOldValues {
            let old = lane.history.rows[item.arrival].old
            change.old = change.mask.positions.map { place in
                old.first { places[$0.column] == place }?.value ?? .null
            }
        }
        return change
    }
}
