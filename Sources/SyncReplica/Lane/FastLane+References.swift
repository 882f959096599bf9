import SyncMerge
import SyncValues

extension FastLane {
    /// Whether an object gets a reference to something that is not at rest.
    /// - Throws: SQLite errors.
    func isReferring(_ arrival: Arrival) throws -> Bool {
        guard let entity = lane.entities[arrival.entity],
            entity.hasReferences || hasUndeclaredReferences
        else { return false }
        for place in order[arrival.facts] where place.group >= 2 {
            let versions = facts.versions[Int(place.group) - 2]
            for (column, spans) in zip(entity.cells[versions.cell].columns, versions.values) {
                guard try isAtRest(spans, Int(place.row), entity.targets[column]) else {
                    return true
                }
            }
        }
        return false
    }

    /// Whether a value refers to nothing, or to a plain row of the right table.
    private func isAtRest(
        _ spans: ValueSpans, _ row: Int, _ target: LaneEntity.Target
    ) throws -> Bool {
        guard case .entity(let position) = target else { return spans.tags[row] != .reference }
        switch spans.tags[row] {
        case .null: return true
        case .reference:
            guard spans.lengths[row] == 0 else { return false }
            return try self.target(Int(spans.words[row]))?.entity == position
        default: return false
        }
    }

    /// What a reference to an object leads to; nil where that is not a plain row.
    /// - Parameter object: its position in the batch.
    func target(_ object: Int) throws -> Target? {
        if let known = targets[object] { return known }
        guard let found = try newTarget(object) ?? storedTarget(object) else { return nil }
        targets[object] = found
        return found
    }

    private func newTarget(_ object: Int) -> Target? {
        var (low, high) = (0, arrivals.count)
        while low < high {
            let middle = (low + high) / 2
            if arrivals[middle].object < object { low = middle + 1 } else { high = middle }
        }
        guard low < arrivals.count, arrivals[low].object == object else { return nil }
        let arrival = arrivals[low]
        return Target(
            entity: arrival.entity,
            key: arrival.key.isEmpty ? .integer(arrival.number) : arrival.key[0])
    }

    private func storedTarget(_ object: Int) throws -> Target? {
        if aliased.contains(facts.objects[object]) { return nil }
        let find = lane.findTarget
        find.bind(facts.objects[object], at: 1)
        defer { find.reset() }
        guard try find.step(), find.integer(2) == StoredObject.State.plain.rawValue,
            let entity = storage.shapes.position(of: find.integer(0)),
            let key = try StoredKey.key(from: find.value(1)), key.count == 1
        else { return nil }
        return Target(entity: entity, key: key[0])
    }
}
