import SyncValues

/// Rule 2 of the view: the state's objects as a graph. Nodes are groups (the identities that
/// aliases join to one object), edges are their references. The other rules work on this graph
/// alone.
struct Grouping {
    /// Sorted by name.
    var groups: [Group] = []
    /// Position of each member's group, and of each group by the root of its aliases.
    private var positions: [ObjectUID: Int] = [:]
    private var sets = DisjointSets<ObjectUID>()

    init(_ state: MergeState) {
        if state.aliases.isEmpty {
            let uids = state.objects.keys.sorted()
            groups.reserveCapacity(uids.count)
            positions.reserveCapacity(uids.count)
            for uid in uids {
                positions[uid] = groups.count
                groups.append(Self.group(of: [uid], in: state))
            }
            addEdges(state)
            return
        }
        for alias in state.aliases.keys { sets.union(alias.first, with: alias.second) }
        var members: [ObjectUID: [ObjectUID]] = [:]
        for uid in state.objects.keys { members[sets.root(of: uid), default: []].append(uid) }
        // An alias may arrive before the object that it names: the name is a member that is here.
        let lists = members.values.map { $0.sorted() }.sorted { $0[0] < $1[0] }
        groups.reserveCapacity(lists.count)
        positions.reserveCapacity(state.objects.count)
        for list in lists {
            for member in list { positions[member] = groups.count }
            positions[sets.root(of: list[0])] = groups.count
            groups.append(Self.group(of: list, in: state))
        }
        addEdges(state)
    }

    private static func group(of members: [ObjectUID], in state: MergeState) -> Group {
        if members.count == 1, let group = plainGroup(of: members, in: state) { return group }
        // An object has one entity: an alias of objects of two entities is ignored.
        let first = state.objects[members[0]]?.entity
        let members = members.filter { state.objects[$0]?.entity == first }
        let records = members.compactMap { state.objects[$0] }
        let living = records.indices.filter { state.isAlive(records[$0]) }
        let sources = living.isEmpty ? Array(records.indices) : living
        let entity = records[0].entity
        var cells: [Group.Cell] = []
        for cell in state.schema.entities[entity].cells.indices {
            var offers: [Group.Cell] = []
            for index in sources {
                let versions = state.candidates(records[index], cell: cell, alive: !living.isEmpty)
                offers += versions.map {
                    let source = VersionID(members[index], cell: cell, dot: $0.dot)
                    return Group.Cell(source: source, value: $0.value)
                }
            }
            let policy = state.schema.entities[entity].policies[cell]
            let shown = state.shown(
                of: offers, policy: policy, dot: { $0.source.dot }, name: { $0.source.object },
                value: \.value)
            guard let (chosen, value) = shown else { break }
            if policy.isBlending {
                cells.append(blended(chosen, offers: offers, policy: policy, state: state))
            } else {
                let value = value.map(MergeState.decoded)
                cells.append(Group.Cell(source: chosen.source, value: value))
            }
        }
        let hasLife = !living.isEmpty || !records.contains { $0.life.isEmpty }
        let isComplete = cells.count == state.schema.entities[entity].cells.count && hasLife
        return Group(
            name: members[0], entity: entity, members: members, isAlive: !living.isEmpty,
            isComplete: isComplete, cells: isComplete ? cells : [])
    }

    /// The group of an object that was created and of which each cell has one version: nearly all.
    private static func plainGroup(of members: [ObjectUID], in state: MergeState) -> Group? {
        let uid = members[0]
        guard let record = state.objects[uid], record.life.count == 1,
            record.life[0].kind == .created
        else { return nil }
        let incarnation = record.life[0].incarnation
        let policies = state.schema.entities[record.entity].policies
        var cells: [Group.Cell] = []
        cells.reserveCapacity(record.cells.count)
        for (cell, versions) in record.cells.enumerated() {
            guard versions.count == 1, versions[0].incarnation == incarnation,
                !versions[0].isPartial
            else { return nil }
            let version = versions[0]
            let source = VersionID(uid, cell: cell, dot: version.dot)
            if policies[cell].isBlending {
                let value = state.blend(versions, newest: version, policy: policies[cell]).value
                cells.append(Group.Cell(source: source, value: [.value(value)]))
            } else {
                cells.append(Group.Cell(source: source, value: state.literal(version)))
            }
        }
        return Group(
            name: uid, entity: record.entity, members: members, isAlive: true, isComplete: true,
            cells: cells)
    }

    /// The joined value of the versions of the member that is shown.
    private static func blended(
        _ chosen: Group.Cell, offers: [Group.Cell], policy: CellPolicy, state: MergeState
    ) -> Group.Cell {
        let rivals = offers.filter { $0.source.object == chosen.source.object }
        let versions = rivals.map { Version($0.source.dot, incarnation: 0, value: $0.value) }
        let newest = Version(chosen.source.dot, incarnation: 0, value: chosen.value)
        let blend = state.blend(versions, newest: newest, policy: policy)
        let reflected = Set(blend.reflected)
        return Group.Cell(
            source: chosen.source, value: [.value(blend.value)],
            blended: rivals.map(\.source).filter { reflected.contains($0.dot) })
    }

    /// The complete group of an identity; also of one that is not here but aliased with one that
    /// is.
    func position(of uid: ObjectUID) -> Int? {
        guard let position = positions[uid] ?? positions[sets.root(of: uid)],
            groups[position].isComplete
        else { return nil }
        return position
    }

    /// The columns of a complete group, as the state has them. A private or shared number is NULL.
    func row(at position: Int, of entity: MergeEntity) -> [Field] {
        var row = [Field](repeating: .value(.null), count: entity.columns.count)
        for (place, (columns, cell)) in zip(entity.cells, groups[position].cells).enumerated()
        where place != entity.numberCell {
            for (column, field) in zip(columns, cell.value) { row[column] = field }
        }
        return row
    }
}

// MARK: Withheld groups

extension Grouping {
    /// Which groups the replica cannot show, by position.
    func withheld(in state: MergeState) -> [Bool] {
        var isWithheld = [Bool](repeating: false, count: groups.count)
        for uid in state.withheld {
            guard let position = position(of: uid) else { continue }
            let entity = state.schema.entities[groups[position].entity]
            let row = row(at: position, of: entity)
            if entity.requiredOutsideReferences.contains(where: { row[$0].target != nil }) {
                isWithheld[position] = true
            }
        }
        return isWithheld
    }
}

// MARK: Edges

extension Grouping {
    /// What the deletion of each target means, decided by the state alone, also for dead groups.
    private mutating func addEdges(_ state: MergeState) {
        let schema = state.schema
        var defaults = DefaultRows()
        for position in groups.indices where groups[position].isComplete {
            let entity = schema.entities[groups[position].entity]
            guard !entity.references.isEmpty else { continue }
            let row = row(at: position, of: entity)
            for (index, reference) in entity.references.enumerated() {
                let fields = reference.columns.map { row[$0] }
                guard let named = fields.lazy.compactMap(\.target).first else { continue }
                let isBorder = state.boundaryRows.contains(groups[position].name)
                if isBorder, state.objects[named] == nil { continue }
                let target = self.target(
                    of: fields, entity: state.formerRows == nil ? reference.target : nil)
                var kind = Self.kind(of: reference, in: entity, row: row)
                var fallback: Int?
                if kind == .fallback {
                    fallback = defaults.position(
                        for: reference, in: entity, grouping: self, schema: schema)
                    if fallback == nil || fallback == target { kind = .hard }
                }
                groups[position].edges.append(
                    .init(reference: index, kind: kind, target: target, fallback: fallback))
            }
        }
    }

    /// The group that a reference names; nil where it is absent. One whose columns name several
    /// objects, other parts of the key, or an object of another entity (no writer states that under
    /// this schema) names nothing that could be shown: it counts as one whose target is absent.
    /// - Parameter entity: the one that the foreign key names; nil: any.
    private func target(of fields: [Field], entity: Int?) -> Int? {
        guard let named = fields.first?.target else { return nil }
        let isWhole = fields.enumerated().allSatisfy { part, field in
            field == .reference(named, part: part)
        }
        guard isWhole, let target = position(of: named) else { return nil }
        return groups[target].entity == entity ?? groups[target].entity ? target : nil
    }

    private static func kind(
        of reference: MergeEntity.Reference, in entity: MergeEntity, row: [Field]
    ) -> EdgeKind {
        func nullIfAllowed() -> EdgeKind {
            guard entity.isNullable(reference.columns) else { return .hard }
            var nulled = row
            for column in reference.columns { nulled[column] = .value(.null) }
            // SQLite would refuse the delete.
            return entity.checks(naming: reference.columns, refuse: nulled) ? .hard : .null
        }
        switch reference.onDelete {
        case .restrict: return .hard
        case .cascade: return entity.deletePolicy == .deleteWins ? .weak : .hard
        case .setNull: return nullIfAllowed()
        case .setDefault:
            let isNull = reference.columns.allSatisfy { entity.columns[$0].defaultValue == .null }
            return isNull ? nullIfAllowed() : .fallback
        }
    }
}

/// Finds the rows that SET DEFAULT falls back to; looked up once for each reference of the schema.
private struct DefaultRows {
    private struct Question: Hashable {
        let target: Int
        let key: [Value]
    }
    private var answers: [Question: Int?] = [:]

    mutating func position(
        for reference: MergeEntity.Reference, in entity: MergeEntity, grouping: Grouping,
        schema: MergeSchema
    ) -> Int? {
        let key = reference.columns.map { entity.columns[$0].defaultValue }
        let question = Question(target: reference.target, key: key)
        if let answer = answers[question] { return answer }
        let target = schema.entities[reference.target]
        let answer = grouping.groups.indices.first { position in
            let group = grouping.groups[position]
            guard group.entity == reference.target, group.isAlive, group.isComplete else {
                return false
            }
            let row = grouping.row(at: position, of: target)
            return zip(target.key, key).allSatisfy { column, value in
                if target.isPrivate { return value == .null }
                guard case .value(let present) = row[column] else { return false }
                let collation = target.columns[column].collation
                return collation.folded(present) == collation.folded(value)
            }
        }
        answers[question] = .some(answer)
        return answer
    }
}
