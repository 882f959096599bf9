import SyncMerge
import SyncValues

/// Versions whose writers had not seen each other, of cells without references and claims: they
/// concern their object alone. Those that ``LaneContest`` leaves, as those of objects in an open
/// conflict, are joined, and the one to be shown is chosen, by the code of the general lane, in a
/// state of these objects alone.
struct LaneRivals {
    /// The contested objects with the facts of the slice.
    var state: MergeState
    /// Its view: each of them is a row of its own.
    let view: View
}

extension FastLane {
    /// Joins the versions of contested objects, and refuses those that are not plain after it, or
    /// that show another stored version then.
    /// - Throws: SQLite errors; `corrupt`, `badData` for records that cannot be read.
    /// - Complexity: O(facts of the contested objects)
    func decideRivals() throws {
        guard arrivals.contains(where: \.isContested) else { return }
        var state = MergeState(
            schema: storage.schema.merge, vector: VersionVector(), headers: [], objects: [:],
            aliases: [:])
        for arrival in arrivals where arrival.isContested {
            let record = try storedRecord(of: arrival)
            state.objects[arrival.uid] = record
            // What it refers to is at rest.
            state.boundaryRows.insert(arrival.uid)
            for dot in record.dots where state.headers[dot] == nil {
                if let header = try storage.headers.header(dot) { state.remember(header) }
            }
        }
        let former = (records: state.objects, view: View(state))
        for arrival in arrivals where arrival.isContested {
            for place in order[arrival.facts] {
                let versions = facts.versions[Int(place.group) - 2]
                state.insert(header(versions.transactions[Int(place.row)]))
                state.insert(fact(place, of: arrival))
            }
        }
        let view = View(state)
        var kept: [Arrival] = []
        kept.reserveCapacity(arrivals.count)
        for var arrival in arrivals {
            guard arrival.isContested else {
                kept.append(arrival)
                continue
            }
            arrival.isRecordChanged = state.objects[arrival.uid] != former.records[arrival.uid]
            let shown = shownCells(of: arrival, in: view, of: state, before: former.view)
            if let shown {
                arrival.shown = shown
                kept.append(arrival)
            } else {
                refuse(arrival.object, .rivals, entity: arrival.entity)
            }
        }
        arrivals = kept
        rivals = LaneRivals(state: state, view: view)
    }

    private func storedRecord(of arrival: Arrival) throws -> ObjectRecord {
        try RecordCoding.decode(
            Array(records[arrival.record]), entity: arrival.entity,
            widths: widths[arrival.entity], replicas: storage.replicas)
    }

    /// The cells in which the row shows a version of the slice after it.
    /// - Returns: nil: the general lane has to show the object.
    private func shownCells(
        of arrival: Arrival, in view: View, of state: MergeState, before former: View
    ) -> PositionSet? {
        guard let row = view.rows[arrival.uid], row.members == [arrival.uid],
            let record = state.objects[arrival.uid],
            StoredObject.State(of: arrival.uid, record: record, in: state, view: view) == .plain
        else { return nil }
        var shown = PositionSet()
        for place in order[arrival.facts] {
            let versions = facts.versions[Int(place.group) - 2]
            let source = row.sources[versions.cell]?.dot
            if source == header(versions.transactions[Int(place.row)]).dot {
                shown.insert(versions.cell)
            } else if source != former.rows[arrival.uid]?.sources[versions.cell]?.dot {
                return nil
            }
        }
        return shown
    }

    /// A version of the slice, with this replica's entity.
    private func fact(_ place: ArrivingFacts.Place, of arrival: Arrival) -> Fact {
        let versions = facts.versions[Int(place.group) - 2]
        let row = Int(place.row)
        return .cell(
            arrival.uid, entity: arrival.entity, cell: versions.cell,
            Version(
                header(versions.transactions[row]).dot,
                incarnation: Int(versions.incarnations[row]),
                value: versions.values.map { $0.field(row, objects: facts.objects) }))
    }

    /// The position of the newest transaction of the slice in the joined record of an object.
    func position(ofRivals arrival: Arrival, in record: ObjectRecord) -> Int64 {
        let dots = Set(record.dots)
        return order[arrival.facts].map { place in
            let transaction =
                facts.versions[Int(place.group) - 2].transactions[Int(place.row)]
            return dots.contains(header(transaction).dot) ? position(of: transaction) : 0
        }.max() ?? 0
    }

    /// Writes the conflict log of the contested objects, after history.
    /// - Throws: SQLite errors.
    /// - Complexity: O(contested objects)
    func writeConflicts() throws {
        try openConflicts()
        guard var rivals else { return }
        var keys: [ObjectUID: [Value]] = [:]
        for arrival in arrivals where arrival.isContested {
            keys[arrival.uid] = arrival.shownKey
        }
        // Some may have been refused since.
        rivals.state.objects = rivals.state.objects.filter { keys[$0.key] != nil }
        try storage.conflicts.update(
            from: rivals.view, of: rivals.state, keys: keys, formerKey: { _ in nil },
            number: storage.history.head)
    }
}
