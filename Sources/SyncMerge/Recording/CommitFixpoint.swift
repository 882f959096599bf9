import SyncValues

/// Adds facts until the view after a commit equals the committed tables (a fixpoint of view and
/// record). Almost always none are needed; only where the view before the commit showed repairs of
/// related rows.
///
/// Terminates: once every shown row, cell and union has been recorded, the view of the state is the
/// tables. Measured on 25,000 commits: one check; two checks in one of 250 commits.
package struct CommitFixpoint {
    /// The limit of checks; reaching it is a fault in the rules.
    package static let checksMax = 12
    /// From this check on, the unions that the view showed are recorded as aliases, because hidden
    /// members still have an effect.
    private static let aliasCheck = 3

    /// The recorder, with the facts of the commit and the added ones.
    package private(set) var recorder: FactRecorder
    private let view: View
    /// The committed rows, by identity.
    private let wanted: [ObjectUID: (entity: Int, fields: [Field])]
    private let order: [ObjectUID]

    /// Starts from the facts of a commit.
    /// - Parameter view: the view before the commit.
    package init(
        _ recorder: FactRecorder, commit: Commit, view: View, assignment: IdentityAssignment
    ) {
        self.recorder = recorder
        self.view = view
        var wanted: [ObjectUID: (entity: Int, fields: [Field])] = [:]
        for row in commit.rows {
            guard let name = assignment.names[row.key] else { continue }
            wanted[name] = (row.key.entity, assignment.fields(of: row))
        }
        self.wanted = wanted
        order = wanted.keys.sorted()
    }

    /// Adds facts until the view equals the committed tables, or until it shows a row that a
    /// constraint had kept out of them.
    /// - Returns: that view, and whether it equals the tables.
    /// - Throws: `internalFault` when it does not end.
    package mutating func reach() throws -> (view: View, isSettled: Bool) {
        for check in 0..<Self.checksMax {
            if check == Self.aliasCheck { recordShownAliases() }
            let shown = View(recorder.state)
            if hasMadeRoom(in: shown) { return (shown, false) }
            var holders: [ObjectUID: [ObjectUID]] = [:]
            for name in order {
                if let host = shown.shownAs[name] { holders[host, default: []].append(name) }
            }
            let count = recorder.facts.count
            let hasUnexpected = deleteUnexpectedRows(in: shown, holders: holders)
            let hasMissing = restoreMissingRows(in: shown, holders: holders, check: check)
            if !hasUnexpected && !hasMissing && recorder.facts.count == count {
                return (shown, true)
            }
        }
        throw SyncError(
            .internalFault, "the facts of transaction \(recorder.header.dot) do not converge")
    }

    /// Whether a row is shown that was kept out of the tables that the writer saw.
    private func hasMadeRoom(in shown: View) -> Bool {
        view.heldBack.contains { wanted[$0] == nil && shown.shownAs[$0] != nil }
    }

    private mutating func recordShownAliases() {
        for name in order {
            for member in view.rows[name]?.members ?? [] where member != name {
                recorder.mergeIdentities(name, with: member)
            }
        }
    }

    /// Handles identities that are shown now and were not committed: a member of a committed row's
    /// old group is aliased with that row again; any other is deleted.
    private mutating func deleteUnexpectedRows(
        in shown: View, holders: [ObjectUID: [ObjectUID]]
    ) -> Bool {
        var isDirty = false
        for name in shown.order {
            guard let row = shown.rows[name] else { continue }
            for member in row.members {
                if let host = wanted[member] == nil ? view.shownAs[member] : member,
                    wanted[host] != nil
                {
                    if holders[name]?.contains(host) ?? false { continue }
                    isDirty = true
                    recorder.mergeIdentities(host, with: member)
                } else if holders[name] == nil || recorder.isAlive(member) {
                    isDirty = true
                    if recorder.hasLife(member) { recorder.delete(member, entity: row.entity) }
                }
            }
        }
        return isDirty
    }

    /// A committed row that is not shown is revived, then its cells are recorded; of two rows that
    /// became one, each is aliased with its own members again; a cell that differs is recorded.
    private mutating func restoreMissingRows(
        in shown: View, holders: [ObjectUID: [ObjectUID]], check: Int
    ) -> Bool {
        var isDirty = false
        for name in order {
            guard let want = wanted[name] else { continue }
            let host = shown.shownAs[name].flatMap { shown.rows[$0] }
            let isShared = host.map { holders[$0.name, default: []].count > 1 } ?? false
            let isLost = host == nil || isShared
            if isLost {
                isDirty = true
                restore(name, isShared: isShared)
                if check == 0 { continue }
            }
            let fallback = ShownRow(
                entity: want.entity, name: name, members: [name], fields: want.fields,
                sources: recorder.schema.entities[want.entity].cells.map { _ in nil })
            let number = recorder.schema.entities[want.entity].numberCell
            for (cell, columns) in recorder.schema.entities[want.entity].cells.enumerated() {
                let isEqual = columns.allSatisfy {
                    shown.resolved(want.fields[$0]) == host?.fields[$0]
                }
                if !isLost && isEqual { continue }
                isDirty = true
                // It claims the number that it was committed with: another row has to give way.
                if cell == number, let host,
                    recorder.claims(want.fields[columns[0]], for: host, in: shown)
                {
                    continue
                }
                recorder.writeCell(
                    cell, fields: want.fields, to: view.rows[name] ?? host ?? fallback)
            }
        }
        return isDirty
    }

    private mutating func restore(_ name: ObjectUID, isShared: Bool) {
        for member in view.rows[name]?.members ?? [name] {
            if member != name && isShared { recorder.mergeIdentities(name, with: member) }
            if recorder.hasLife(member) && !recorder.isAlive(member) {
                recorder.revive(member, entity: recorder.state.objects[member]?.entity ?? 0)
            }
        }
    }
}
