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
            defaults += cells.map { cell in
                .cell(
                    uid, entity: place, cell: cell,
                    schema.entities[place].defaultVersion(of: cell, at: life))
            }
        }
        return defaults
    }

    /// The cells of this schema that the sender does not have, by its entities.
    private func missingCells(in schema: MergeSchema) -> [Int: (place: Int, cells: [Int])] {
        var missing: [Int: (place: Int, cells: [Int])] = [:]
        for (position, entity) in entities.enumerated() {
            let name = Collation.lowercased(entity.name)
            guard
                let place = schema.entities.firstIndex(where: {
                    Collation.lowercased($0.name) == name
                }), entity.identifiesRows(as: schema.entities[place])
            else { continue }
            let forwarded = entities[(position + 1)...].filter {
                Collation.lowercased($0.name) == name && $0.isPrivate == entity.isPrivate
            }
            let known = Set(entity.cells.joined().map(Collation.lowercased))
                .subtracting(forwarded.flatMap { $0.cells.joined().map(Collation.lowercased) })
            let described = schema.entities[place]
            let cells = described.cells.indices.filter { cell in
                described.cells[cell].allSatisfy {
                    !known.contains(Collation.lowercased(described.columns[$0].name))
                }
            }
            if !cells.isEmpty { missing[position] = (place, cells) }
        }
        return missing
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
            for cell in record.cells.indices where entity.mayBeAdded(cell) {
                let isStated = record.cells[cell].contains { $0.incarnation == record.incarnation }
                guard !isStated, let version = record.unwritten(entity.defaultValue(of: cell))
                else { continue }
                objects[uid]?.cells[cell].removeAll(where: \.isUnwritten)
                objects[uid]?.cells[cell].append(version)
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
    /// The default of a cell, as if it was written when the object was inserted.
    package func defaultVersion(of cell: Int, at life: Life) -> Version {
        Version(life.dot, incarnation: life.incarnation, value: defaultValue(of: cell))
    }

    /// Whether rows can be older than the columns of a cell, as ALTER TABLE has it.
    fileprivate func mayBeAdded(_ cell: Int) -> Bool {
        cells[cell].allSatisfy { place in
            let column = columns[place]
            return !key.contains(place) && !(column.isRequired && column.defaultValue == .null)
        }
    }

    /// What a new row shows in a cell that nobody states.
    package func defaultValue(of cell: Int) -> [Field] {
        cells[cell].map { .value(columns[$0].defaultValue) }
    }
}
