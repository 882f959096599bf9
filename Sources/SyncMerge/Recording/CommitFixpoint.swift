import SyncValues

/// What you commit is what you get: adds the facts that make the view equal the tables as they were
/// committed. Almost always none; needed only where the view had repaired something nearby.
///
/// Ends, because when every shown row, cell and union has been stated, state and tables are the
/// same and the view is the identity. Measured on 25,000 commits: one check, twice in one of 250.
package struct CommitFixpoint {
    /// Beyond this many checks something is wrong in the rules.
    package static let checksMax = 12
    /// From this check on all unions that were shown are made lasting: a hidden part still acts.
    private static let checkOfUnions = 3

    package private(set) var recorder: FactRecorder
    private let view: View
    /// The committed rows, by identity.
    private let wanted: [ObjectUID: (entity: Int, fields: [Field])]
    private let order: [ObjectUID]

    package init(
        _ recorder: FactRecorder, _ commit: Commit, view: View, _ assignment: IdentityAssignment
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

    /// - Throws: `internalFault` when it does not end.
    package mutating func settle() throws -> View {
        for check in 0..<Self.checksMax {
            if check == Self.checkOfUnions { stateUnions() }
            let shown = View(recorder.state)
            var holders: [ObjectUID: [ObjectUID]] = [:]
            for name in order {
                if let host = shown.hosts[name] { holders[host, default: []].append(name) }
            }
            let count = recorder.facts.count
            let isHiding = endWhatComesOut(shown, holders)
            let isWanting = adoptWhatIsMissing(shown, holders, check: check)
            if !isHiding && !isWanting && recorder.facts.count == count { return shown }
        }
        throw SyncError(
            .internalFault, "the facts of transaction \(recorder.header.dot) do not settle")
    }

    private mutating func stateUnions() {
        for name in order {
            for member in view.rows[name]?.members ?? [] where member != name {
                recorder.unite(name, member)
            }
        }
    }

    /// A part that leaves the row it hid behind stays with it; anything else that comes out of
    /// hiding is ended.
    private mutating func endWhatComesOut(
        _ shown: View, _ holders: [ObjectUID: [ObjectUID]]
    ) -> Bool {
        var isDirty = false
        for name in shown.order {
            guard let row = shown.rows[name] else { continue }
            for member in row.members {
                if let host = wanted[member] == nil ? view.hosts[member] : member,
                    wanted[host] != nil
                {
                    if holders[name]?.contains(host) ?? false { continue }
                    isDirty = true
                    recorder.unite(host, member)
                } else if holders[name] == nil || recorder.isAlive(member) {
                    isDirty = true
                    if recorder.hasLife(member) { recorder.delete(member, entity: row.entity) }
                }
            }
        }
        return isDirty
    }

    /// A committed row that is not shown is revived, then its cells are stated; two that became one
    /// take their own parts with them; a cell that differs is stated.
    private mutating func adoptWhatIsMissing(
        _ shown: View, _ holders: [ObjectUID: [ObjectUID]], check: Int
    ) -> Bool {
        var isDirty = false
        for name in order {
            guard let want = wanted[name] else { continue }
            let host = shown.hosts[name].flatMap { shown.rows[$0] }
            let isShared = host.map { holders[$0.name, default: []].count > 1 } ?? false
            let isLost = host == nil || isShared
            if isLost {
                isDirty = true
                reclaim(name, isShared: isShared)
                if check == 0 { continue }
            }
            let fallback = ShownRow(
                entity: want.entity, name: name, members: [name], fields: want.fields,
                sources: recorder.schema.entities[want.entity].cells.map { _ in nil })
            for (cell, columns) in recorder.schema.entities[want.entity].cells.enumerated() {
                let isEqual = columns.allSatisfy {
                    shown.resolved(want.fields[$0]) == host?.fields[$0]
                }
                if !isLost && isEqual { continue }
                isDirty = true
                recorder.write(cell, want.fields, to: view.rows[name] ?? host ?? fallback)
            }
        }
        return isDirty
    }

    private mutating func reclaim(_ name: ObjectUID, isShared: Bool) {
        for member in view.rows[name]?.members ?? [name] {
            if member != name && isShared { recorder.unite(name, member) }
            if recorder.hasLife(member) && !recorder.isAlive(member) {
                recorder.revive(member, entity: recorder.state.objects[member]?.entity ?? 0)
            }
        }
    }
}
