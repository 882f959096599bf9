import SyncValues

/// Stating again what some replicas have dropped.
extension FactRecorder {
    /// States an object again as it is: all that concurrent versions of a cell show together, and
    /// nothing that only a repair shows. What this replica holds of it is overwritten, and what
    /// others have lost comes back to them.
    package mutating func restate(_ uid: ObjectUID) {
        guard let record = state.objects[uid] else { return }
        revive(uid, entity: record.entity)
        for cell in record.cells.indices {
            guard let value = restated(cell, of: record) else { continue }
            recordCell(
                cell, value: value, of: uid, entity: record.entity,
                incarnation: record.incarnation)
        }
    }

    /// What the cell of an object shows by itself, as a writer would write it; nil: nothing.
    private func restated(_ cell: Int, of record: ObjectRecord) -> [Field]? {
        let versions = state.candidates(record, cell: cell, alive: true)
        guard !versions.isEmpty else { return nil }
        let policy = schema.entities[record.entity].policies[cell]
        if versions.contains(where: \.isPartial) {
            return state.shownValue(of: versions, policy: policy)
        }
        let shown = state.chosen(from: versions, policy: policy, dot: \.dot, name: \.dot)
        if cell == schema.entities[record.entity].numberCell {
            let number = NumberClaim(shown, in: state).number
            return [.value(number.map(Value.integer) ?? .null)]
        }
        guard policy.isBlending else { return state.literal(shown) }
        return [.value(state.blend(versions, newest: shown, policy: policy).value)]
    }
}
