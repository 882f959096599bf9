import SyncValues

extension Batch {
    /// The defaults of columns that the sender does not have: its rows show them, as rows show that
    /// are older than a column. Facts of the transactions that inserted the objects, so that they
    /// are the same on every replica.
    ///
    /// An edit that keeps a row which was deleted elsewhere says nothing of these columns, also
    /// where it wrote all of the row that the sender has: see ``MergeState/fill(_:)``.
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
                })
            else { continue }
            let forwarded = entities[(position + 1)...].filter {
                Collation.lowercased($0.name) == name
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
    /// Gives objects that an edit keeps the defaults of cells in which nothing of their present
    /// life is: the edit stated all of the row that its writer had, so that these are columns which
    /// came later. They lose to every fact about these cells, whichever comes first. Where the edit
    /// came first, what it stated may have been overwritten, and that may come with a later batch:
    /// a row without what it has to have is not shown before.
    /// - Complexity: O(cells of the objects)
    package mutating func fill(_ uids: some Sequence<ObjectUID>) {
        for uid in uids {
            guard let record = objects[uid], record.isKept else { continue }
            let newest = record.incarnation
            guard let near = record.life.first(where: { $0.incarnation == newest }) else {
                continue
            }
            let entity = schema.entities[record.entity]
            for cell in record.cells.indices where entity.mayBeAdded(cell) {
                let versions = record.cells[cell]
                if versions.contains(where: { $0.incarnation == newest }) { continue }
                objects[uid]?.cells[cell] =
                    versions.filter { !$0.isUnwritten } + [
                        Version(
                            unwritten: entity.defaultValue(of: cell), incarnation: newest,
                            near: near.dot.replica)
                    ]
            }
        }
    }
}

extension ObjectRecord {
    /// Whether an edit keeps its present life, which was deleted elsewhere.
    package var isKept: Bool {
        let newest = incarnation
        return life.contains { $0.kind == .revived && $0.incarnation == newest }
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
