import SyncValues

/// The tables: a pure function of a state that satisfies every constraint of the schema, whatever
/// facts the state holds.
///
/// A *repair* (a deleted parent shown again, a reference shown as NULL, two rows shown as one) is
/// the difference between state and view. It is never stored as a fact and never sent, so that it
/// cannot outlive its cause, and no two replicas can disagree about it.
package struct View: Sendable {
    /// By name.
    package private(set) var rows: [ObjectUID: ShownRow] = [:]
    /// The names of the rows, sorted.
    package private(set) var order: [ObjectUID] = []
    /// The row that each shown identity is part of.
    package private(set) var hosts: [ObjectUID: ObjectUID] = [:]
    /// Identities that are shown although deleted.
    package private(set) var revived: Set<ObjectUID> = []
    /// Rows that claims made one, or changed, as they were before: a row of the store that claims
    /// the same would have been part of it.
    package private(set) var passing: [ShownRow] = []
    /// What is current and not shown: the open conflicts.
    package private(set) var conflicts: [VersionID: Conflict] = [:]

    /// Computes the tables of a state.
    ///
    /// Ends, because each turn of the loop hides at least one more group, each round of survivors
    /// ends one, and each round of claims unites two rows.
    /// - Complexity: O(n log n) for n objects, times the rounds; one round in nine of ten views.
    package init(_ state: MergeState) {
        let grouping = Grouping(state)
        var forced = [Bool](repeating: false, count: grouping.groups.count)
        while true {
            let survivors = Survivors(grouping, forced: forced)
            let overrides = Overrides(grouping, state.schema, isShown: survivors.isShown)
            var hidden = overrides.orphaned
            if hidden.isEmpty {
                let unification = Unification(
                    state, grouping, isShown: survivors.isShown, overrides.fields)
                passing += unification.passing
                hidden = unification.refused
                if hidden.isEmpty {
                    adopt(unification, survivors, grouping, state)
                    record(state)
                    return
                }
            }
            for position in hidden { forced[position] = true }
        }
    }

    private mutating func adopt(
        _ unification: Unification, _ survivors: Survivors, _ grouping: Grouping,
        _ state: MergeState
    ) {
        for part in unification.order {
            guard let row = unification.rows[part] else { continue }
            rows[row.name] = row
            order.append(row.name)
            for member in row.members { hosts[member] = row.name }
        }
        // Not here, but one object with one that is.
        for uid in state.aliased where state.objects[uid] == nil {
            guard let position = grouping.position(of: uid) else { continue }
            hosts[uid] = hosts[grouping.groups[position].name]
        }
        for (group, isRevived) in zip(grouping.groups, survivors.isRevived) where isRevived {
            revived.formUnion(group.members)
        }
    }

    /// Every maximal fact that is not shown, and that no delete had seen, is an open conflict; not
    /// one that says what is shown anyway.
    private mutating func record(_ state: MergeState) {
        for (uid, record) in state.objects {
            let row = hosts[uid].flatMap { rows[$0] }
            let newest = record.incarnation
            for (cell, versions) in record.cells.enumerated() {
                for version in versions {
                    let id = VersionID(uid, cell: cell, version.dot)
                    if let row, row.sources[cell] == id || row.blended.contains(id) { continue }
                    if state.isEnded(version, in: record) { continue }
                    let value = state.literal(version)
                    if says(value, cell: cell, of: uid, state.schema) { continue }
                    let reason: Conflict.Reason =
                        version.incarnation < newest
                        ? .olderIncarnation : hosts[uid] == nil ? .hidden : .lost
                    conflicts[id] = Conflict(reason: reason, value: value)
                }
            }
            guard revived.contains(uid) else { continue }
            for life in record.life where life.kind == .deleted {
                let id = VersionID(uid, cell: VersionID.life, life.dot)
                conflicts[id] = Conflict(reason: .deleteLost, value: [])
            }
        }
    }

    /// Whether the row of an object has these values.
    package func says(
        _ value: [Field], cell: Int, of uid: ObjectUID, _ schema: MergeSchema
    ) -> Bool {
        guard let host = hosts[uid], let row = rows[host] else { return false }
        return zip(schema.entities[row.entity].cells[cell], value).allSatisfy {
            row.fields[$0] == resolved($1)
        }
    }

    /// The field as this view names its target.
    package func resolved(_ field: Field) -> Field {
        guard case .reference(let uid, let part) = field, let host = hosts[uid] else {
            return field
        }
        return .reference(host, part: part)
    }
}
