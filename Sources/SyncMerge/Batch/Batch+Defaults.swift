import SyncValues

extension Batch {
    /// The defaults of columns that the sender does not have: its rows show them, as rows show that
    /// are older than a column. Facts of the transaction that inserted the object, so that they are
    /// the same on every replica.
    /// - Complexity: O(facts)
    package func defaults(in schema: MergeSchema) -> [Fact] {
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
        if missing.isEmpty { return [] }
        var facts: [Fact] = []
        for case .life(let uid, let entity, let life) in self.facts where life.kind == .created {
            guard let (place, cells) = missing[entity] else { continue }
            for cell in cells {
                facts.append(
                    .cell(
                        uid, entity: place, cell: cell,
                        schema.entities[place].defaultVersion(of: cell, at: life)))
            }
        }
        return facts
    }
}

extension MergeEntity {
    /// The default of a cell, as if it was written when the object was inserted.
    package func defaultVersion(of cell: Int, at life: Life) -> Version {
        let value = cells[cell].map { Field.value(columns[$0].defaultValue) }
        return Version(life.dot, incarnation: life.incarnation, value: value)
    }
}
