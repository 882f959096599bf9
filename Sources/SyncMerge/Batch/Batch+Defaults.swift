import SyncValues

extension Batch {
    /// The defaults of columns that the sender does not have: its rows show them, as rows show that
    /// are older than a column. Facts of the transactions that inserted the objects, so that they
    /// are the same on every replica.
    ///
    /// An edit that keeps a row which was deleted elsewhere says nothing of these columns:
    /// ``MergeState/fill(_:)``.
    /// - Complexity: O(facts)
    package func defaults(in schema: MergeSchema) -> [Fact] {
        let missing = missingCells(in: schema)
        if missing.isEmpty { return [] }
        var defaults: [Fact] = []
        for case .life(let uid, let entity, let life) in facts where life.kind == .created {
            guard let (place, cells) = missing[entity] else { continue }
            defaults += cells.map { cell, value in
                .cell(uid, entity: place, cell: cell, Version(of: life, value: value))
            }
        }
        return defaults
    }

    /// The defaults of the columns of this schema that the sender does not have, by its entities.
    private func missingCells(
        in schema: MergeSchema
    ) -> [Int: (place: Int, cells: [(cell: Int, value: [Field])])] {
        var missing: [Int: (place: Int, cells: [(cell: Int, value: [Field])])] = [:]
        for (position, entity) in entities.enumerated() {
            let name = Collation.lowercased(entity.name)
            guard
                let place = schema.entities.firstIndex(where: {
                    Collation.lowercased($0.name) == name
                }), entity.identifiesRows(as: schema.entities[place])
            else { continue }
            let known = columnsOfRows(at: position)
            let cells = schema.entities[place].defaults { !known.contains($0) }
            if !cells.isEmpty { missing[position] = (place, cells) }
        }
        return missing
    }

    /// The columns that the rows of the sender have: not those whose facts it only forwards, which
    /// an entity of the same name at the end repeats. A column that is in several cells is one of
    /// its own, whatever is repeated.
    private func columnsOfRows(at position: Int) -> Set<String> {
        let entity = entities[position]
        let columns = entity.cells.joined().map(Collation.lowercased)
        let counts = Dictionary(columns.map { ($0, 1) }, uniquingKeysWith: +)
        let name = Collation.lowercased(entity.name)
        let forwarded = entities[(position + 1)...].filter {
            Collation.lowercased($0.name) == name && $0.isPrivate == entity.isPrivate
        }
        let repeated = forwarded.flatMap { $0.cells.joined().map(Collation.lowercased) }
        return Set(columns).subtracting(repeated.filter { counts[$0] == 1 })
    }
}

extension MergeEntity {
    /// The defaults of some columns, by cell; of the other columns nothing is stated.
    /// - Parameter isMissing: says for the folded name of a column whether it is one of them.
    package func defaults(
        where isMissing: (String) -> Bool
    ) -> [(cell: Int, value: [Field])] {
        cells.enumerated().compactMap { cell, places in
            let value: [Field] = places.map { place in
                isMissing(Collation.lowercased(columns[place].name))
                    ? .value(columns[place].defaultValue) : .unstated
            }
            return value.allSatisfy { $0 == .unstated } ? nil : (cell, value)
        }
    }
}

extension MergeState {
    /// Gives the present lives of objects whose inserts are gone, because somebody deleted them,
    /// the defaults of cells in which nothing of these lives is: of columns that came later, where
    /// an edit keeps the row, or a reference shows it. They lose to every fact about these cells,
    /// whichever comes first: what came earlier and was overwritten may come with a later batch. So
    /// a row without what it has to have is not shown before.
    /// - Complexity: O(cells of the objects)
    package mutating func fill(_ uids: some Sequence<ObjectUID>) {
        for uid in uids {
            guard let record = objects[uid] else { continue }
            let entity = schema.entities[record.entity]
            for cell in record.cells.indices {
                let present = record.cells[cell].filter { $0.incarnation == record.incarnation }
                guard let missing = entity.addedDefault(of: cell, besides: present),
                    let version = record.unwritten(missing)
                else { continue }
                let known = present.filter(\.isUnwritten)
                objects[uid]?.cells[cell].removeAll(where: \.isUnwritten)
                objects[uid]?.cells[cell].append(known.reduce(version) { $0.joined($1) })
            }
        }
    }
}

extension ObjectRecord {
    /// The default of a cell that has nothing of the present life; nil where this has an insert, or
    /// nothing at all.
    package func unwritten(_ value: [Field]) -> Version? {
        let newest = incarnation
        let isInserted = life.contains { $0.kind == .created && $0.incarnation == newest }
        guard !isInserted,
            let near = cells.joined().first(where: { $0.incarnation == newest })
        else { return nil }
        return Version(unwritten: value, incarnation: newest, near: near.dot.replica)
    }
}

extension MergeEntity {
    /// The defaults of the columns of a cell that no version states; nil where one of them is none
    /// that rows can be older than, as ALTER TABLE has it, or where all are stated.
    fileprivate func addedDefault(of cell: Int, besides versions: [Version]) -> [Field]? {
        var value = [Field](repeating: .unstated, count: cells[cell].count)
        for (place, position) in cells[cell].enumerated()
        where versions.allSatisfy({ $0.value[place] == .unstated }) {
            let column = columns[position]
            guard !key.contains(position), !(column.isRequired && column.defaultValue == .null)
            else { return nil }
            value[place] = .value(column.defaultValue)
        }
        return value.allSatisfy { $0 == .unstated } ? nil : value
    }

    /// What a new row shows in a cell that nobody states.
    package func defaultValue(of cell: Int) -> [Field] {
        cells[cell].map { .value(columns[$0].defaultValue) }
    }
}
