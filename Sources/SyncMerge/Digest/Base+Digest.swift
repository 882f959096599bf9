import SyncValues

extension Base {
    /// Translates one local transaction into facts.
    ///
    /// What was committed is what the view shows after it: where the transaction was written on top
    /// of repairs, the few facts that make it so are added (``Settlement``). This is the only place
    /// where a repair becomes a fact, and it is an ordinary write of somebody who saw it.
    /// - Parameters:
    ///   - view: the view of this base, which the writer saw.
    ///   - names: the identities of its rows, by the keys that they have here.
    ///   - newUID: draws a random identity.
    /// - Throws: `internalFault`; the base is a value, so nothing has changed then.
    package func digest(
        _ commit: Commit, view: View, names: [RowKey: ObjectUID], dot: Dot, time: HybridTime,
        newUID: () -> ObjectUID
    ) throws -> Digested {
        let header = TransactionHeader(dot, time: time, seen: vector)
        return try digest(commit, view: view, names: names, [], last: header) { _ in newUID() }
    }

    /// Translates several local transactions at once, of which only the tables after the last one
    /// are known: the same facts as one by one, without those that the later ones overwrote.
    /// - Parameters:
    ///   - headers: those before the last one, in order; `commit.dates` names their dots.
    ///   - newUID: the identity of a new row whose key is private.
    /// - Throws: `internalFault`.
    package func digest(
        _ commit: Commit, view: View, names: [RowKey: ObjectUID], _ headers: [TransactionHeader],
        last: TransactionHeader, newUID: (RowKey) -> ObjectUID
    ) throws -> Digested {
        let naming = try Naming(
            commit, base: self, view: view, before: names, newUID: newUID)
        var speaker = Speaker(self, headers, last: last)
        speaker.stateDeletes(commit, view: view, before: names, naming)
        speaker.stateInserts(commit, before: names, naming)
        speaker.stateUpdates(commit, view: view, naming)
        let targets = naming.fresh.flatMap { naming.fields(of: $0).compactMap(\.target) }
        speaker.touch(targets, in: view)
        let stated = speaker.facts.count
        var settlement = Settlement(speaker, commit, view: view, naming)
        let settled = try settlement.settle()
        return Digested(
            base: settlement.speaker.base, view: settled, names: naming.names,
            header: settlement.speaker.header, facts: settlement.speaker.facts,
            adoptionCount: settlement.speaker.facts.count - stated)
    }
}

extension Speaker {
    /// A deleted row ends everything that it stood for.
    fileprivate mutating func stateDeletes(
        _ commit: Commit, view: View, before: [RowKey: ObjectUID], _ naming: Naming
    ) {
        let kept = Set(naming.names.values)
        let ended = before.filter { !kept.contains($0.value) }.sorted { $0.value < $1.value }
        for (key, name) in ended {
            guard let row = view.rows[name] else { continue }
            for member in row.members where hasLife(member) {
                delete(member, entity: row.entity, at: commit.dates.deleted[key])
            }
        }
    }

    /// An inserted row begins a life, with all its cells. Where it is the new key of an old row,
    /// references to the old key follow.
    fileprivate mutating func stateInserts(
        _ commit: Commit, before: [RowKey: ObjectUID], _ naming: Naming
    ) {
        for row in naming.fresh {
            guard let name = naming.names[row.key] else { continue }
            create(name, entity: row.key.entity, naming.fields(of: row)) { columns in
                columns.isEmpty
                    ? commit.dates.inserted[row.key] : commit.dates.written(row.key, columns)
            }
            if let old = commit.rekeyed[row.key], naming.names[old] == nil,
                let former = before[old]
            {
                unite(former, name)
            }
        }
    }

    /// An updated row states the cells that changed; a row written anew ends one life and begins
    /// the next, under one dot.
    fileprivate mutating func stateUpdates(_ commit: Commit, view: View, _ naming: Naming) {
        for row in commit.rows {
            guard let name = naming.names[row.key], let shown = view.rows[name] else { continue }
            let fields = naming.fields(of: row)
            if commit.recreated.contains(row.key) {
                for member in shown.members {
                    delete(member, entity: shown.entity, at: commit.dates.deleted[row.key])
                }
                create(name, entity: shown.entity, fields) { columns in
                    columns.isEmpty
                        ? commit.dates.inserted[row.key] : commit.dates.written(row.key, columns)
                }
                continue
            }
            var isTouched = false
            for (cell, columns) in schema.entities[shown.entity].cells.enumerated()
            where columns.contains(where: { fields[$0] != shown.fields[$0] }) {
                write(cell, fields, to: shown, at: commit.dates.written(row.key, columns))
                isTouched = true
            }
            if isTouched { touch([name], in: view) }
        }
    }
}
