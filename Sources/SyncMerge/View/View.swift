/// The materialised view of a state: tables that satisfy every constraint of the schema, whatever
/// facts the state holds. A pure function of the state.
///
/// A *repair* (a deleted parent shown again, a reference shown as NULL, two rows shown as one) is
/// the difference between state and view. It is never stored as a fact and never sent, so it cannot
/// outlive its cause, and no two replicas can disagree about it.
///
/// The rules, in the order in which they apply
/// 1. Existence (`MergeState+Existence`): whether an object is alive, by its own facts.
/// 2. ``Grouping``: aliases join identities to groups; references become edges.
/// 3. ``Survivors``: a group that requires an absent target is not shown; nor is one that the
///    replica withholds (``MergeState/withheld``).
/// 4. ``Survivors``, ``Overrides``: cascades remove groups, hard references pin deleted ones; a
///    reference to a group that is not shown becomes NULL or its default.
/// 5. ``Unification``: groups that claim one UNIQUE value become one row, or the later claim is
///    shown with another value; where neither is possible its row is hidden.
/// 6. Last resort: a row that a CHECK refuses, because of rule 5 or of the key of another row, is
///    hidden.
/// 7. ``SharedNumbers``: which row shows a number that several claim.
///
/// Rules 3 to 6 repeat while rule 4, 5 or 6 hides a group.
package struct View: Sendable {
    /// The rows, by shown identity.
    package private(set) var rows: [ObjectUID: ShownRow] = [:]
    /// The shown identities, sorted.
    package private(set) var order: [ObjectUID] = []
    /// The shown identity of each identity that is part of a row.
    package private(set) var shownAs: [ObjectUID: ObjectUID] = [:]
    /// Identities that are shown although deleted.
    package private(set) var revived: Set<ObjectUID> = []
    /// Living identities that rules 3 to 6 keep out of the tables. They are shown as soon as there
    /// is room for them, or what they refer to is there.
    package private(set) var heldBack: Set<ObjectUID> = []
    /// Rows that a clash of claims united or changed, as they were before: a row of the store that
    /// claims the same value would have been part of the clash.
    package private(set) var clashedRows: [ShownRow] = []
    /// The rows of entities with shared numbers that do not show a number which they claim, with
    /// the version of the claim: its writer states another one.
    package private(set) var lostNumbers: [ObjectUID: VersionID] = [:]
    /// What is current and not shown: the open conflicts. A number that another row shows is none:
    /// it is no content.
    package private(set) var conflicts: [VersionID: Conflict] = [:]

    /// Computes the tables of a state.
    ///
    /// Terminates, because each turn of the loop hides at least one more group, each round of
    /// survivors removes one, and each round of claims unites two rows.
    /// - Complexity: O(n log n) for n objects, times the rounds; nine of ten views take one round.
    package init(_ state: MergeState) {
        let grouping = Grouping(state)
        var forced = grouping.withheld(in: state)
        while true {
            let survivors = Survivors(grouping, forced: forced)
            let overrides = Overrides(grouping, state: state, isShown: survivors.isShown)
            var hidden = overrides.orphaned
            if hidden.isEmpty {
                let unification = Unification(
                    state, grouping: grouping, isShown: survivors.isShown,
                    overrides: overrides.fields)
                clashedRows += unification.clashedRows
                hidden = unification.outranked
                if hidden.isEmpty { hidden = unification.refused }
                if hidden.isEmpty {
                    heldBack = Self.heldBack(grouping, isShown: survivors.isShown)
                    setRows(unification, survivors: survivors, grouping: grouping, state: state)
                    setNumbers(in: state)
                    findConflicts(in: state)
                    return
                }
            }
            for position in hidden { forced[position] = true }
        }
    }

    private static func heldBack(_ grouping: Grouping, isShown: [Bool]) -> Set<ObjectUID> {
        var held: Set<ObjectUID> = []
        for (group, isShown) in zip(grouping.groups, isShown)
        where !isShown && group.isAlive && group.isComplete {
            held.formUnion(group.members)
        }
        return held
    }

    private mutating func setRows(
        _ unification: Unification, survivors: Survivors, grouping: Grouping, state: MergeState
    ) {
        for part in unification.order {
            guard let row = unification.rows[part] else { continue }
            rows[row.name] = row
            order.append(row.name)
            for member in row.members { shownAs[member] = row.name }
        }
        // Not here, but aliased with an object that is.
        for uid in state.aliased where state.objects[uid] == nil {
            guard let position = grouping.position(of: uid) else { continue }
            shownAs[uid] = shownAs[grouping.groups[position].name]
        }
        for (group, isRevived) in zip(grouping.groups, survivors.isRevived) where isRevived {
            revived.formUnion(group.members)
        }
    }

    private mutating func setNumbers(in state: MergeState) {
        guard state.schema.sharesNumbers else { return }
        var claims: [(row: ObjectUID, entity: Int, source: VersionID)] = []
        for name in order {
            guard let row = rows[name], let cell = state.schema.entities[row.entity].numberCell,
                let source = row.sources[cell]
            else { continue }
            claims.append((name, row.entity, source))
        }
        let shared = SharedNumbers(of: claims, in: state) { name in
            rows[name]?.members.contains(where: revived.contains) ?? false
        }
        for (name, entity, _) in claims {
            let described = state.schema.entities[entity]
            guard let number = shared.numbers[name], let cell = described.numberCell else {
                continue
            }
            rows[name]?.fields[described.key[0]] = .value(.integer(number))
            if shared.lost[name] != nil { rows[name]?.sources[cell] = nil }
        }
        lostNumbers = shared.lost
    }

    /// Every maximal fact that is not shown, and that no delete had seen, is an open conflict; not
    /// one with the value that is shown anyway, and not the default of a column that was added when
    /// the row, or its insert, was not there any more.
    private mutating func findConflicts(in state: MergeState) {
        for (uid, record) in state.objects {
            let row = shownAs[uid].flatMap { rows[$0] }
            let newest = record.incarnation
            let number = state.schema.entities[record.entity].numberCell
            for (cell, versions) in record.cells.enumerated() where cell != number {
                for version in versions {
                    let id = VersionID(uid, cell: cell, dot: version.dot)
                    if let row, row.sources[cell] == id || row.blended.contains(id) { continue }
                    if version.isUnwritten || state.isEnded(version, in: record) { continue }
                    if row == nil || version.incarnation < newest,
                        state.isAttributedDefault(version, cell: cell, of: record)
                    {
                        continue
                    }
                    if state.isDefaultOfFormerInsert(version, cell: cell, of: record) { continue }
                    var value = state.literal(version)
                    if shows(value, cell: cell, of: uid, schema: state.schema) { continue }
                    if let row, versions.contains(where: \.isPartial) {
                        value = lost(value, cell: cell, of: row, schema: state.schema)
                    }
                    let reason: ConflictReason =
                        version.incarnation < newest
                        ? .olderIncarnation : shownAs[uid] == nil ? .hidden : .lost
                    conflicts[id] = Conflict(reason: reason, value: value)
                }
            }
            guard revived.contains(uid) else { continue }
            for life in record.life where life.kind == .deleted {
                let id = VersionID(uid, cell: VersionID.life, dot: life.dot)
                conflicts[id] = Conflict(reason: .deleteLost, value: [])
            }
        }
    }

    /// Whether the row of an object has these values, as far as they are stated.
    package func shows(
        _ value: [Field], cell: Int, of uid: ObjectUID, schema: MergeSchema
    ) -> Bool {
        guard let host = shownAs[uid], let row = rows[host] else { return false }
        return zip(schema.entities[row.entity].cells[cell], value).allSatisfy {
            $1 == .unstated || row.fields[$0] == resolved($1)
        }
    }

    /// What a row does not show of a version, in a cell that is shown column by column.
    private func lost(
        _ value: [Field], cell: Int, of row: ShownRow, schema: MergeSchema
    ) -> [Field] {
        zip(schema.entities[row.entity].cells[cell], value).map {
            row.fields[$0] == resolved($1) ? .unstated : $1
        }
    }

    /// The field as this view names its target.
    package func resolved(_ field: Field) -> Field {
        guard case .reference(let uid, let part) = field, let host = shownAs[uid] else {
            return field
        }
        return .reference(host, part: part)
    }
}
