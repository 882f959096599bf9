extension MergeState {
    /// Translates one local transaction into facts.
    ///
    /// The view after the transaction equals what was committed: where the transaction was written
    /// on top of repairs, the few facts that this takes are added (``CommitFixpoint``). Only here
    /// does a repair become a fact, as an ordinary write of a writer that saw it. But a row that a
    /// constraint kept out of the tables, and that the commit makes room for, is nobody's delete:
    /// it is shown, and the commit is not settled (``RecordedCommit/isSettled``).
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
        return try record(commit, view: view, names: names, headers: [], last: header) { _ in
            newUID()
        }
    }

    /// Translates several local transactions at once, of which only the tables after the last one
    /// are known: the same facts as one after the other, without those that the later ones
    /// overwrote.
    /// - Parameters:
    ///   - headers: those before the last one, in order; `commit.dates` names their dots.
    ///   - isSettling: whether facts are added until the view equals the committed tables. False
    ///     where the writers saw another view than this one: what they wrote is stated, and
    ///     nothing that they only saw.
    ///   - newUID: the identity of a new row whose key is private.
    /// - Throws: `internalFault`.
    package func record(
        _ commit: Commit, view: View, names: [RowKey: ObjectUID], headers: [TransactionHeader],
        last: TransactionHeader, isSettling: Bool = true, newUID: (RowKey) -> ObjectUID
    ) throws -> RecordedCommit {
        let assignment = try IdentityAssignment(
            commit, state: self, view: view, before: names, newUID: newUID)
        var recorder = FactRecorder(self, headers: headers, last: last)
        recorder.recordDeletes(of: commit, view: view, before: names, assignment: assignment)
        recorder.recordInserts(of: commit, before: names, assignment: assignment)
        recorder.recordUpdates(of: commit, view: view, assignment: assignment)
        let targets = assignment.fresh.flatMap { assignment.fields(of: $0).compactMap(\.target) }
        recorder.markWritten(targets, in: view)
        let stated = recorder.facts.count
        var fixpoint = CommitFixpoint(recorder, commit: commit, view: view, assignment: assignment)
        let (settled, isReached) =
            isSettling ? try fixpoint.reach() : (View(recorder.state), false)
        return RecordedCommit(
            state: fixpoint.recorder.state, view: settled, names: assignment.names,
            header: fixpoint.recorder.header, facts: fixpoint.recorder.facts,
            adoptionCount: fixpoint.recorder.facts.count - stated, isSettled: isReached)
    }
}

extension FactRecorder {
    /// A deleted row deletes all identities that were shown as it.
    fileprivate mutating func recordDeletes(
        of commit: Commit, view: View, before: [RowKey: ObjectUID], assignment: IdentityAssignment
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

    /// An inserted row is a new life, with all its cells. Where it is the new key of an old row,
    /// the two are aliased: references to the old key lead to the new row.
    fileprivate mutating func recordInserts(
        of commit: Commit, before: [RowKey: ObjectUID], assignment: IdentityAssignment
    ) {
        for row in assignment.fresh {
            guard let name = assignment.names[row.key] else { continue }
            create(name, entity: row.key.entity, fields: assignment.fields(of: row)) { columns in
                columns.isEmpty
                    ? commit.dates.inserted[row.key]
                    : commit.dates.lastWrite(to: columns, of: row.key)
            }
            if let old = commit.rekeyed[row.key], assignment.names[old] == nil,
                let former = before[old]
            {
                mergeIdentities(former, with: name)
            }
        }
    }

    /// For an updated row the cells that changed are recorded; a row that was deleted and inserted
    /// again ends one life and begins the next, under one dot.
    fileprivate mutating func recordUpdates(
        of commit: Commit, view: View, assignment: IdentityAssignment
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
                create(name, entity: shown.entity, fields: fields) { columns in
                    columns.isEmpty
                        ? commit.dates.inserted[row.key]
                        : commit.dates.lastWrite(to: columns, of: row.key)
                }
                continue
            }
            var isTouched = false
            for (cell, columns) in schema.entities[shown.entity].cells.enumerated()
            where columns.contains(where: { fields[$0] != shown.fields[$0] }) {
                writeCell(
                    cell, fields: fields, to: shown,
                    at: commit.dates.lastWrite(to: columns, of: row.key))
                isTouched = true
            }
            if isTouched { markWritten([name], in: view) }
        }
    }
}
