import SyncValues

/// Rule 5: makes rows of the shown groups. Groups that claim the same UNIQUE value are unified to
/// one row, or the group with the later claim is shown with another value, or it is not shown.
///
/// No value is invented: the later claim is shown as NULL, or with the default of the column that
/// puts it into an index; with a suffix under `keepBoth` alone. Where none of these is legal the
/// rows become one if an insert made one of the claims; otherwise the later one has to be hidden.
///
/// Rounds are synchronous: all clashes of a round are resolved at once. A round that unites reduces
/// the number of rows; there are at most as many renaming rounds as groups, after that clashes
/// unite. Rows are hidden when nothing else is left to do. Uniting never leaves a dangling
/// reference, because the identity continues in the row. What follows from a union (children that
/// now claim the same value, a value that became free) is found by the next round.
struct Unification {
    /// One per part, by position of the part's first group.
    private(set) var rows: [Int: ShownRow] = [:]
    /// Positions of the rows, in the order of their shown identities.
    private(set) var order: [Int] = []
    /// Rows of earlier rounds that clashed, as they were then: what they claimed decided, too.
    private(set) var clashedRows: [ShownRow] = []
    /// Groups with a later claim that cannot be shown in any way. They have to be hidden.
    private(set) var outranked: [Int] = []

    private let state: MergeState
    private let grouping: Grouping
    private let overrides: [GroupColumn: Field]
    private let shown: [Int]
    private var parents: [Int]
    private var renamed: [GroupColumn: Field] = [:]
    private var parts: [Int: [Int]] = [:]

    init(
        _ state: MergeState, grouping: Grouping, isShown: [Bool], overrides: [GroupColumn: Field]
    ) {
        self.state = state
        self.grouping = grouping
        self.overrides = overrides
        shown = isShown.indices.filter { isShown[$0] }
        parents = Array(isShown.indices)
        resolveClashes()
    }

    private mutating func resolveClashes() {
        var renamings = 0
        while true {
            makeRows()
            let clashes = findClashes()
            if clashes.isEmpty { return }
            clashedRows += Set(clashes.flatMap(\.rows)).sorted().compactMap { rows[$0] }
            let uniting = clashes.filter(becomesOne)
            if !uniting.isEmpty || renamings > shown.count {
                renamed = [:]  // names given before two rows became one are void
                for clash in uniting.isEmpty ? clashes : uniting {
                    for row in clash.rows.dropFirst() { unite(clash.rows[0], with: row) }
                }
            } else {
                let results = clashes.map { renameLosers(of: $0) }
                if results.allSatisfy({ $0.renamedCount == 0 }) {
                    hideLosers(of: results)
                    return
                }
                renamings += 1
            }
        }
    }

    // MARK: Parts

    private func root(_ position: Int) -> Int {
        var position = position
        while parents[position] != position { position = parents[position] }
        return position
    }

    private mutating func unite(_ left: Int, with right: Int) {
        let left = root(left)
        let right = root(right)
        parents[max(left, right)] = min(left, right)
    }

    // MARK: Rows

    private mutating func makeRows() {
        parts.removeAll(keepingCapacity: true)
        rows.removeAll(keepingCapacity: true)
        order.removeAll(keepingCapacity: true)
        rows.reserveCapacity(shown.count)
        parts.reserveCapacity(shown.count)
        for position in shown {
            let part = root(position)
            if part == position { order.append(part) }
            parts[part, default: []].append(position)
        }
        for part in order { rows[part] = row(of: parts[part] ?? []) }
    }

    private func row(of groups: [Int]) -> ShownRow {
        let first = grouping.groups[groups[0]]
        let entity = state.schema.entities[first.entity]
        var row = ShownRow(
            entity: first.entity, name: first.name,
            members: groups.flatMap { grouping.groups[$0].members },
            fields: Array(repeating: .value(.null), count: entity.columns.count), sources: [])
        let isPlain = renamed.isEmpty && overrides.isEmpty
        row.sources.reserveCapacity(entity.cells.count)
        for (cell, columns) in entity.cells.enumerated() {
            let group = holder(of: cell, in: groups)
            let version = grouping.groups[group].cells[cell]
            var source: VersionID? = version.source
            // The number is set when all rows are known; until then nothing depends on it.
            for (column, field) in zip(columns, version.value) where cell != entity.numberCell {
                if isPlain {
                    row.fields[column] = resolved(field)
                    continue
                }
                let place = GroupColumn(group: group, column: column)
                if let field = renamed[place] ?? overrides[place] {
                    source = nil
                    row.fields[column] = resolved(field)
                } else {
                    row.fields[column] = resolved(field)
                }
            }
            row.sources.append(source)
            if source != nil { row.blended += version.blended }
        }
        return row
    }

    /// The group whose version of a cell is shown by a row of several groups: the newest.
    private func holder(of cell: Int, in groups: [Int]) -> Int {
        if groups.count == 1 { return groups[0] }
        let policy = state.schema.entities[grouping.groups[groups[0]].entity].policies[cell]
        return state.chosen(
            from: groups, policy: policy, dot: { grouping.groups[$0].cells[cell].source.dot },
            name: { $0 })
    }

    /// The field with its reference to the row that shows the target.
    private func resolved(_ field: Field) -> Field {
        guard case .reference(let uid, let part) = field,
            let target = grouping.position(of: uid)
        else { return field }
        return .reference(grouping.groups[root(target)].name, part: part)
    }

    /// What SQLite sees in the column: a reference shows the key of its target; a private number
    /// denotes the row itself, and stays a reference.
    func visible(_ field: Field) -> Field {
        var field = field
        for _ in 0...state.schema.entities.count {
            guard case .reference(let uid, let part) = field,
                let target = grouping.position(of: uid), let row = rows[root(target)]
            else { return field }
            let entity = state.schema.entities[row.entity]
            guard !entity.isPrivate, entity.key.indices.contains(part) else { return field }
            field = row.fields[entity.key[part]]
        }
        return field
    }

    // MARK: Clashes

    private struct Claim: Hashable {
        let entity: Int
        let claim: Int
        let values: [Field]
    }

    private struct Clash {
        var rows: [Int]
        let claim: Int
        /// The cell that the claim is part of; nil for a claim without columns.
        let cell: Int?
    }

    /// The values that more than one row claims, in the order of the first of these rows.
    private func findClashes() -> [Clash] {
        var holders: [Claim: Int] = [:]
        var places: [Claim: Int] = [:]
        var clashes: [Clash] = []
        for part in order {
            guard let row = rows[part] else { continue }
            let entity = state.schema.entities[row.entity]
            if entity.claims.isEmpty { continue }
            for (index, described) in entity.claims.enumerated() {
                guard let values = claimedValues(of: described, by: row) else { continue }
                let claim = Claim(entity: row.entity, claim: index, values: values)
                guard let first = holders.updateValue(part, forKey: claim) else { continue }
                if let place = places[claim] {
                    clashes[place].rows.append(part)
                } else {
                    places[claim] = clashes.count
                    let cell = described.columns.first.flatMap { entity.cellOfColumn[$0] }
                    clashes.append(Clash(rows: [first, part], claim: index, cell: cell))
                }
            }
        }
        return state.formerRows == nil ? clashes : clashes.filter(wasInForce)
    }

    /// Whether a clash may have been one under the former schema: where several of its rows were
    /// shown, all but one were shown with a repair.
    private func wasInForce(_ clash: Clash) -> Bool {
        guard let former = state.formerRows else { return true }
        let plainCount = clash.rows.count { contains(former.plain, in: $0) }
        let shownRows = clash.rows.filter { contains(former.shown, in: $0) }
        if shownRows.count < 2 { return true }
        return plainCount < 2 && shownRows.allSatisfy { rename(of: $0, in: clash) != nil }
    }

    private func contains(_ names: Set<ObjectUID>, in part: Int) -> Bool {
        rows[part]?.members.contains(where: names.contains) ?? false
    }

    /// The values of a claim as UNIQUE compares them; nil when the row claims nothing.
    /// - Parameter change: a column that is shown with another value.
    private func claimedValues(
        of claim: MergeEntity.Claim, by row: ShownRow,
        with change: (column: Int, value: Value)? = nil
    ) -> [Field]? {
        claim.values { column in
            if let change, change.column == column { return .value(change.value) }
            return visible(row.fields[column])
        }.map(claim.folded)
    }

    /// How a row can be shown so that it does not claim what it claims now.
    private func rename(of part: Int, in clash: Clash) -> MergeEntity.LoserRename? {
        guard let row = rows[part] else { return nil }
        let entity = state.schema.entities[row.entity]
        let claim = entity.claims[clash.claim]
        let renames = entity.loserRenames[clash.claim]
        if claim.isPlain { return renames.first }
        let present = claimedValues(of: claim, by: row)
        return renames.first { rename in
            guard case .value(let value) = row.fields[rename.column] else { return false }
            let shown = rename.value(for: value, suffix: Self.suffix(of: row.name))
            return claimedValues(of: claim, by: row, with: (rename.column, shown)) != present
        }
    }

    private static func suffix(of name: ObjectUID) -> String { "~" + name.description.prefix(8) }

    /// Whether the rows of a clash become one: where an insert made a claim (the same thing was
    /// entered twice), under `merge`, and under the other policies where a row cannot be shown with
    /// another value. Rows that a flag puts into an index do not: the flag is a property of theirs,
    /// and not what they are. Neither do rows that one writer meant to have beside each other.
    private func becomesOne(_ clash: Clash) -> Bool {
        guard let first = rows[clash.rows[0]], let cell = clash.cell else { return true }
        if let former = state.formerRows,
            clash.rows.count(where: { contains(former.shown, in: $0) }) > 1
        {
            return false
        }
        let renames = clash.rows.map { rename(of: $0, in: clash) }
        if renames.allSatisfy({ $0?.isReset ?? false }) { return false }
        let entity = state.schema.entities[first.entity]
        guard entity.uniquePolicy == .merge || renames.contains(nil) else { return false }
        let holders = clash.rows.map { holder(of: cell, in: parts[$0] ?? []) }
        let isEntered = holders.contains { group in
            let source = grouping.groups[group].cells[cell].source
            return state.objects[source.object]?.life.contains {
                $0.kind == .created && $0.dot == source.dot
            } ?? false
        }
        return isEntered
            && !holders.contains { first in
                holders.contains { wroteBoth($0, knowing: first, of: clash, cell: cell) }
            }
    }

    /// Whether the writer of a claim knew of a row that claims the same as it was written, and left
    /// it there: for that writer these are two things, because its tables had no such constraint.
    private func wroteBoth(_ group: Int, knowing other: Int, of clash: Clash, cell: Int) -> Bool {
        guard group != other else { return false }
        let (later, earlier) = (
            grouping.groups[group].cells[cell].source, grouping.groups[other].cells[cell].source
        )
        guard earlier.dot == later.dot || state.isSeen(earlier.dot, by: later.dot) else {
            return false
        }
        // Of one that was deleted, and came back by another writer's edit, the later row may have
        // been made in its place.
        let wasThere = grouping.groups[other].members.allSatisfy { member in
            state.objects[member]?.life.allSatisfy { $0.kind == .created } ?? false
        }
        guard wasThere else { return false }
        let entity = state.schema.entities[grouping.groups[group].entity]
        func claimed(_ position: Int) -> [Field]? {
            let row = grouping.row(at: position, of: entity)
            let claim = entity.claims[clash.claim]
            return claim.values { row[$0] }.map(claim.folded)
        }
        return claimed(group) == claimed(other)
    }

    /// What became of the rows of a clash, by position of their parts.
    private struct Outcome {
        /// The row that keeps the value.
        var winner: Int?
        /// How many others are shown with another value.
        var renamedCount = 0
        /// The others.
        var hidden: [Int] = []
    }

    /// One claim keeps the value; the others are shown as NULL, as `value~uid`, or with the default
    /// of the column that put them into the index.
    ///
    /// It is the oldest one of those that no writer of another one had seen. (A writer can have
    /// seen a claim only where its row was not shown with it.)
    private mutating func renameLosers(of clash: Clash) -> Outcome {
        var outcome = Outcome()
        guard let cell = clash.cell else { return outcome }
        let claimants = clash.rows.map { part -> (row: Int, group: Int) in
            (part, holder(of: cell, in: parts[part] ?? []))
        }
        func dot(_ group: Int) -> Dot { grouping.groups[group].cells[cell].source.dot }
        func age(_ group: Int) -> (HybridTime, Dot, Int) {
            (state.time(dot(group)), dot(group), group)
        }
        let current = claimants.filter { claimant in
            !claimants.contains {
                dot($0.group) != dot(claimant.group)
                    && state.isSeen(dot(claimant.group), by: dot($0.group))
            }
        }
        outcome.winner = current.min { age($0.group) < age($1.group) }?.row
        for claimant in claimants where claimant.row != outcome.winner {
            guard let rename = rename(of: claimant.row, in: clash),
                case .value(let value)? = rows[claimant.row]?.fields[rename.column]
            else {
                outcome.hidden.append(claimant.row)
                continue
            }
            let suffix = Self.suffix(of: grouping.groups[claimant.group].name)
            renamed[GroupColumn(group: claimant.group, column: rename.column)] = .value(
                rename.value(for: value, suffix: suffix))
            outcome.renamedCount += 1
        }
        return outcome
    }

    /// Hides the rows that lost a clash against one that is not hidden; where each of them lost
    /// against another one of them, all.
    private mutating func hideLosers(of outcomes: [Outcome]) {
        let all = Set(outcomes.flatMap(\.hidden))
        let effective = outcomes.filter { !all.contains($0.winner ?? -1) }.flatMap(\.hidden)
        outranked = (effective.isEmpty ? all : Set(effective)).flatMap { parts[$0] ?? [] }.sorted()
    }

    // MARK: Last resort

    /// Rule 6: the groups of rows that a CHECK refuses because groups were united. They have to be
    /// hidden.
    var refused: [Int] {
        order.filter { part in
            guard let row = rows[part], state.schema.entities[row.entity].mayRefuse,
                !contains(state.formerRows?.shown ?? [], in: part)
            else { return false }
            let entity = state.schema.entities[row.entity]
            return entity.accepted(row.fields.map(visible)) { row.fields[$0].target != nil } == nil
        }.flatMap { parts[$0] ?? [] }
    }
}
