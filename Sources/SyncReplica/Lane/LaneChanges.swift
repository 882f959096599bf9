import SyncCore
import SyncMerge

/// The changes that the fast lane has made, as history has them.
struct LaneChanges {
    private let lane: FastLane
    private let tracked: [TrackedEntity?]
    /// By entity and column: its place in the log.
    private let places: [[Int?]]

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
        for column in item.columns.positions { places[column].map { change.mask.insert($0) } }
        if item.isFirst, entity.keepsOldValues {
            let old = lane.history.rows[item.arrival].old
            change.old = change.mask.positions.map { place in
                old.first { places[$0.column] == place }?.value ?? .null
            }
        }
        return change
    }
}
