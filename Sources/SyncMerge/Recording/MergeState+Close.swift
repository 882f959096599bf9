import SyncValues

extension MergeState {
    /// Turns every open repair into facts, as an ordinary transaction; the tables do not change.
    /// - Parameter view: the view of this state.
    /// - Throws: `internalFault`; the state is a value, so nothing has changed then.
    package func close(
        view: View, names: [RowKey: ObjectUID], dot: Dot, time: HybridTime
    ) throws -> RecordedCommit {
        var recorder = FactRecorder(self, dot: dot, time: time)
        for name in view.order {
            for member in view.rows[name]?.members ?? [] where member != name {
                recorder.unite(name, member)
            }
            recorder.touch([name], in: view)
        }
        for uid in recorder.state.objects.keys.sorted()
        where view.hosts[uid] == nil && recorder.hasLife(uid) && recorder.isAlive(uid) {
            recorder.delete(uid, entity: recorder.state.objects[uid]?.entity ?? 0)
        }
        for _ in 0..<CommitFixpoint.checksMax {
            let shown = View(recorder.state)
            if !recorder.restate(view, where: shown) {
                return RecordedCommit(
                    state: recorder.state, view: shown,
                    names: names.mapValues { shown.hosts[$0] ?? $0 }, header: recorder.header,
                    facts: recorder.facts, adoptionCount: recorder.facts.count)
            }
        }
        throw SyncError(.internalFault, "closing conflicts in transaction \(dot) does not end")
    }
}

extension FactRecorder {
    /// States the cells that `shown` shows otherwise than `view` did, or not from a fact.
    fileprivate mutating func restate(_ view: View, where shown: View) -> Bool {
        var isDirty = false
        for name in shown.order {
            guard let row = shown.rows[name], let host = view.hosts[name],
                let old = view.rows[host]
            else { continue }
            for (cell, columns) in schema.entities[row.entity].cells.enumerated() {
                let isEqual = columns.allSatisfy {
                    shown.resolved(old.fields[$0]) == row.fields[$0]
                }
                if isEqual && row.sources[cell] != nil { continue }
                isDirty = true
                write(cell, old.fields, to: row)
            }
        }
        return isDirty
    }
}
