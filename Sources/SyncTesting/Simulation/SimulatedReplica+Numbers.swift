import SyncMerge

/// Shared numbers of a simulated replica.
extension SimulatedReplica {
    /// The transactions by which this replica renumbered rows since the last call.
    package func takeRenumberings() -> [RecordedCommit] {
        defer { renumberings = [] }
        return renumberings
    }

    /// States another number for each row whose number this replica claimed and lost.
    func renumber() throws {
        let lost = view.lostNumbers(of: { $0.replica == id })
        if lost.isEmpty { return }
        guard lost.allSatisfy({ view.lostNumbers[$0]?.dot.replica == id }) else {
            throw SimulationFailure("a replica renumbers what another one claimed")
        }
        let header = next(wall)
        var recorder = FactRecorder(state, dot: header.dot, time: header.time)
        var given: [Int: Set<Int64>] = [:]
        recorder.renumber(lost, in: view) { entity in
            let number = nextNumber(of: entity, besides: given[entity] ?? [])
            given[entity, default: []].insert(number)
            return number
        }
        state = recorder.state
        try show(View(state))
        renumberings.append(RecordedCommit(recorder, view: view, names: names))
    }

    /// The number after the greatest of an entity; where that is the greatest there is, the least
    /// free one.
    /// - Parameter given: numbers that other rows of this transaction got.
    private func nextNumber(of entity: Int, besides given: Set<Int64>) -> Int64 {
        let used = given.union(
            tables.keys.filter { $0.entity == entity }.compactMap { key in
                if case .integer(let number) = key.values[0] { return number }
                return nil
            })
        let greatest = max(0, used.max() ?? 0, state.greatestClaim(of: entity) ?? 0)
        if greatest < .max { return greatest + 1 }
        var number: Int64 = 1
        while used.contains(number) { number += 1 }
        return number
    }

    /// Checks that a row without a number of its own does not pull up the numbers that SQLite
    /// chooses.
    func checkLostNumbers() throws {
        for name in view.lostNumbers.keys {
            guard let row = view.rows[name],
                case .value(.integer(let number)) = row.fields[
                    schema.merge.entities[row.entity].key[0]], number < 0
            else { throw SimulationFailure("a row without a number is shown under a positive one") }
        }
    }

    /// Checks that each row has a number of its own.
    func checkNumbers() throws {
        guard view.lostNumbers.isEmpty else {
            throw SimulationFailure("a row has no number of its own, and its author is here")
        }
        // Writers choose small numbers, and the ends of the range.
        let made: ClosedRange<Int64> = -(1 << 52)...(-1000)
        for row in view.rows.values {
            let entity = schema.merge.entities[row.entity]
            guard entity.sharesNumbers,
                case .value(.integer(let number)) = row.fields[entity.key[0]],
                made.contains(number)
            else { continue }
            throw SimulationFailure("a row claims the number of a row without one")
        }
    }
}
