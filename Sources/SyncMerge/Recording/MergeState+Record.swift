import SyncValues

extension MergeState {
    /// Translates one local transaction into facts.
    ///
    /// What was committed is what the view shows after it: where the transaction was written on top
    /// of repairs, the few facts that make it so are added (``CommitFixpoint``). This is the only
    /// place where a repair becomes a fact, and it is an ordinary write of somebody who saw it.
    /// - Parameters:
    ///   - view: the view of this state, which the writer saw.
    ///   - names: the identities of its rows, by the keys that they have here.
    ///   - newUID: draws a random identity.
    /// - Throws: `internalFault`; the state is a value, so nothing has changed then.
    package func record(
        _ commit: Commit, view: View, names: [RowKey: ObjectUID], dot: Dot, time: HybridTime,
        newUID: () -> ObjectUID
    ) throws -> RecordedCommit {
        let header = TransactionHeader(dot, time: time, seen: vector)
        return try record(commit, view: view, names: names, [], last: header) { _ in newUID() }
    }

    /// Translates several local transactions at once, of which only the tables after the last one
    /// are known: the same facts as one by one, without those that the later ones overwrote.
    /// - Parameters:
    ///   - headers: those before the last one, in order; `commit.dates` names their dots.
    ///   - newUID: the identity of a new row whose key is private.
    /// - Throws: `internalFault`.
    package func record(
        _ commit: Commit, view: View, names: [RowKey: ObjectUID], _ headers: [TransactionHeader],
        last: TransactionHeader, newUID: (RowKey) -> ObjectUID
    ) throws -> RecordedCommit {
        let assignment = try IdentityAssignment(
            commit, state: self, view: view, before: names, newUID: newUID)
        var recorder = FactRecorder(self, headers, last: last)
        recorder.stateDeletes(commit, view: view, before: names, assignment)
        recorder.stateInserts(commit, before: names, assignment)
        recorder.stateUpdates(commit, view: view, assignment)
        let targets = assignment.fresh.flatMap { assignment.fields(of: $0).compactMap(\.target) }
        recorder.touch(targets, in: view)
        let stated = recorder.facts.count
        var fixpoint = CommitFixpoint(recorder, commit, view: view, assignment)
        let settled = try fixpoint.settle()
        return RecordedCommit(
            state: fixpoint.recorder.state, view: settled, names: assignment.names,
            header: fixpoint.recorder.header, facts: fixpoint.recorder.facts,
            adoptionCount: fixpoint.recorder.facts.count - stated)
    }
}

extension FactRecorder {
    /// A deleted row ends everything that it stood for.
    fileprivate mutating func stateDeletes(
        _ commit: Commit, view: View, before: [RowKey: ObjectUID], _ assignment: IdentityAssignment
    ) {
        let kept = Set(assignment.names.values)
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
        _ commit: Commit, before: [RowKey: ObjectUID], _ assignment: IdentityAssignment
    ) {
        for row in assignment.fresh {
            guard let name = assignment.names[row.key] else { continue }
            create(name, entity: row.key.entity, assignment.fields(of: row)) { columns in
                columns.isEmpty
                    ? commit.dates.inserted[row.key] : commit.dates.written(row.key, columns)
            }
            if let old = commit.rekeyed[row.key], assignment.names[old] == nil,
                let former = before[old]
            {
                unite(former, name)
            }
        }
    }

    /// An updated row states the cells that changed; a row written anew ends one life and begins
    /// the next, under one dot.
    fileprivate mutating func stateUpdates(
        _ commit: Commit, view: View, _ assignment: IdentityAssignment
    ) {
        for row in commit.rows {
            guard let name = assignment.names[row.key], let shown = view.rows[name] else {
                continue
            }
            let fields = assignment.fields(of: row)
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
