import SyncValues

extension MergeState {
    /// Records every open repair as facts, in an ordinary transaction; the tables do not change.
    /// - Parameter view: the view of this state.
    /// - Throws: `internalFault`; the state is a value, so nothing has changed then.
    package func close(
        view: View, names: [RowKey: ObjectUID], dot: Dot, time: HybridTime
    ) throws -> RecordedCommit {
        var recorder = FactRecorder(self, dot: dot, time: time)
        for name in view.order {
            for member in view.rows[name]?.members ?? [] where member != name {
                recorder.mergeIdentities(name, with: member)
            }
            recorder.markWritten([name], in: view)
        }
        for uid in recorder.state.objects.keys.sorted()
        where view.shownAs[uid] == nil && recorder.hasLife(uid) && recorder.isAlive(uid) {
            recorder.delete(uid, entity: recorder.state.objects[uid]?.entity ?? 0)
        }
        for _ in 0..<CommitFixpoint.checksMax {
            let shown = View(recorder.state)
            if !recorder.recordDifferences(view, where: shown) {
                return RecordedCommit(
                    state: recorder.state, view: shown,
                    names: names.mapValues { shown.shownAs[$0] ?? $0 }, header: recorder.header,
                    facts: recorder.facts, adoptionCount: recorder.facts.count,
                    isSettled: true)
            }
        }
        throw SyncError(.internalFault, "closing conflicts in transaction \(dot) does not end")
    }
}

extension FactRecorder {
    /// Records the cells that `shown` shows with another value than `view`, or without a fact.
    fileprivate mutating func recordDifferences(_ view: View, where shown: View) -> Bool {
        var isDirty = false
        for name in shown.order {
            guard let row = shown.rows[name], let host = view.shownAs[name],
                let old = view.rows[host]
            else { continue }
            let number = schema.entities[row.entity].numberCell
            for (cell, columns) in schema.entities[row.entity].cells.enumerated() {
                let isEqual = columns.allSatisfy {
                    shown.resolved(old.fields[$0]) == row.fields[$0]
                }
                // A number that is no claim stays none: the writer of the claim states another.
                if isEqual && (row.sources[cell] != nil || cell == number) { continue }
                isDirty = true
                writeCell(cell, fields: old.fields, to: row)
            }
        }
        return isDirty
    }
}
