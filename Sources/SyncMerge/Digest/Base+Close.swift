import SyncValues

extension Base {
    /// Turns every open repair into facts, as an ordinary transaction; the tables do not change.
    /// - Parameter view: the view of this base.
    /// - Throws: `internalFault`; the base is a value, so nothing has changed then.
    package func close(
        view: View, names: [RowKey: ObjectUID], dot: Dot, time: HybridTime
    ) throws -> Digested {
        var speaker = Speaker(self, dot: dot, time: time)
        for name in view.order {
            for member in view.rows[name]?.members ?? [] where member != name {
                speaker.unite(name, member)
            }
            speaker.touch([name], in: view)
        }
        for uid in speaker.base.objects.keys.sorted()
        where view.hosts[uid] == nil && speaker.hasLife(uid) && speaker.isAlive(uid) {
            speaker.delete(uid, entity: speaker.base.objects[uid]?.entity ?? 0)
        }
        for _ in 0..<Settlement.checksMax {
            let shown = View(speaker.base)
            if !speaker.restate(view, where: shown) {
                return Digested(
                    base: speaker.base, view: shown,
                    names: names.mapValues { shown.hosts[$0] ?? $0 }, header: speaker.header,
                    facts: speaker.facts, adoptionCount: speaker.facts.count)
            }
        }
        throw SyncError(.internalFault, "closing conflicts in transaction \(dot) does not end")
    }
}

extension Speaker {
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
