import SyncValues

/// Rule 5: makes rows of the shown groups. Groups that claim the same UNIQUE value are unified to
/// one row, or the group with the later claim is shown with another value.
///
/// Rounds are synchronous: all clashes of a round are resolved at once. A round that unites reduces
/// the number of rows; there are at most as many renaming rounds as groups, after that clashes
/// unite. Uniting never leaves a dangling reference, because the identity continues in the row.
/// What follows from a union (children that now claim the same value, a value that became free) is
/// found by the next round.
struct Unification {
    /// One per part, by position of the part's first group.
    private(set) var rows: [Int: ShownRow] = [:]
    /// Positions of the rows, in the order of their shown identities.
    private(set) var order: [Int] = []
    /// Rows of earlier rounds that clashed, as they were then: what they claimed decided, too.
    private(set) var clashedRows: [ShownRow] = []

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
                for clash in clashes { renameLoser(of: clash) }
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
            for (column, field) in zip(columns, version.value) {
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
        let columns: [Int]
        let rename: MergeEntity.LoserRename?
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
            for (index, columns) in entity.claims.enumerated() {
                guard let values = claimedValues(of: columns, in: row, entity: entity) else {
                    continue
                }
                let claim = Claim(entity: row.entity, claim: index, values: values)
                guard let first = holders.updateValue(part, forKey: claim) else { continue }
                if let place = places[claim] {
                    clashes[place].rows.append(part)
                } else {
                    places[claim] = clashes.count
                    let rename = entity.loserRenames[index]
                    clashes.append(
                        Clash(rows: [first, part], columns: columns, rename: rename))
                }
            }
        }
        return clashes
    }

    /// The values of a claim as UNIQUE compares them; nil when one is NULL: NULL claims nothing.
    private func claimedValues(of columns: [Int], in row: ShownRow, entity: MergeEntity) -> [Field]?
    {
        var values: [Field] = []
        for column in columns {
            switch visible(row.fields[column]) {
            case .value(.null): return nil
            case .value(let value):
                values.append(.value(entity.columns[column].collation.folded(value)))
            case .reference(let uid, _): values.append(.reference(uid, part: 0))
            }
        }
        return values
    }

    /// Whether the rows of a clash become one.
    private func becomesOne(_ clash: Clash) -> Bool {
        guard clash.rename != nil, let first = rows[clash.rows[0]] else { return true }
        let entity = state.schema.entities[first.entity]
        guard entity.uniquePolicy == .merge, let cell = entity.cellOfColumn[clash.columns[0]]
        else { return entity.uniquePolicy == .merge }
        return clash.rows.contains { part in
            let group = holder(of: cell, in: parts[part] ?? [])
            let source = grouping.groups[group].cells[cell].source
            return state.objects[source.object]?.life.contains {
                $0.kind == .created && $0.dot == source.dot
            } ?? false
        }
    }

    /// The oldest claim keeps the value; the others are shown as NULL, or as `value~uid`.
    private mutating func renameLoser(of clash: Clash) {
        guard let rename = clash.rename, let first = rows[clash.rows[0]] else { return }
        let column = rename.column
        guard let cell = state.schema.entities[first.entity].cellOfColumn[column] else { return }
        let claimants = clash.rows.map { part -> (row: Int, group: Int) in
            (part, holder(of: cell, in: parts[part] ?? []))
        }
        func age(_ group: Int) -> (HybridTime, Dot, Int) {
            let dot = grouping.groups[group].cells[cell].source.dot
            return (state.time(dot), dot, group)
        }
        for claimant in claimants.sorted(by: { age($0.group) < age($1.group) }).dropFirst() {
            let place = GroupColumn(group: claimant.group, column: column)
            guard case .value(let value)? = rows[claimant.row]?.fields[column] else { continue }
            switch rename {
            case .null: renamed[place] = .value(.null)
            case .name:
                let name = grouping.groups[claimant.group].name.description
                renamed[place] = .value(value.appending("~" + name.prefix(8)))
            }
        }
    }

    // MARK: Last resort

    /// Rule 6: the groups of rows that a CHECK refuses because groups were united. They have to be
    /// hidden.
    var refused: [Int] {
        order.filter { part in
            guard let row = rows[part], !state.schema.entities[row.entity].checks.isEmpty else {
                return false
            }
            return state.schema.entities[row.entity].refuses(row.fields.map(visible))
        }.flatMap { parts[$0] ?? [] }
    }
}

extension Value {
    /// The value with text at its end.
    fileprivate func appending(_ suffix: String) -> Value {
        switch self {
        case .null: return self
        case .integer(let number): return .text(String(number) + suffix)
        case .real(let number): return .text(String(number) + suffix)
        case .text(let text): return .text(text + suffix)
        case .blob(let bytes): return .blob(bytes + Array(suffix.utf8))
        }
    }
}
