import SyncValues

extension Batch {
    /// The defaults of columns that the sender does not have.
    package struct Defaults: Sendable {
        /// Facts of the transactions that inserted the objects.
        package var facts: [Fact] = []
        /// Facts of transactions that kept objects alive which had been deleted: for cells of which
        /// that delete has left nothing.
        package var remainders: [Fact] = []
    }

    /// What a transaction wrote of an object.
    private struct Writing: Hashable {
        let object: ObjectUID
        let entity: Int
        let dot: Dot
    }

    /// The defaults of columns that the sender does not have: its rows show them, as rows show that
    /// are older than a column. Facts of the transaction that inserted the object, so that they are
    /// the same on every replica; or that deleted a row and inserted it again, which wrote all of
    /// it that the sender has.
    /// - Complexity: O(facts)
    package func defaults(in schema: MergeSchema) -> Defaults {
        let missing = missingCells(in: schema)
        if missing.isEmpty { return Defaults() }
        var written: [Writing: Int] = [:]
        for case .cell(let uid, let entity, _, let version) in facts where missing[entity] != nil {
            written[Writing(object: uid, entity: entity, dot: version.dot), default: 0] += 1
        }
        var defaults = Defaults()
        for case .life(let uid, let entity, let life) in facts where life.kind != .deleted {
            guard let (place, cells) = missing[entity] else { continue }
            let writing = Writing(object: uid, entity: entity, dot: life.dot)
            let isInsert =
                life.kind == .created || written[writing] == entities[entity].cells.count
            for cell in cells {
                let fact = Fact.cell(
                    uid, entity: place, cell: cell,
                    schema.entities[place].defaultVersion(of: cell, at: life))
                if isInsert {
                    defaults.facts.append(fact)
                } else {
                    defaults.remainders.append(fact)
                }
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
    /// Inserts facts about cells of which there is no version of the same life.
    package mutating func fill(_ facts: [Fact]) {
        for case .cell(let uid, let entity, let cell, let version) in facts {
            guard let record = objects[uid], record.incarnation == version.incarnation,
                !record.cells[cell].contains(where: { $0.incarnation == version.incarnation })
            else { continue }
            insert(.cell(uid, entity: entity, cell: cell, version))
        }
    }
}

extension MergeEntity {
    /// The default of a cell, as if it was written when the object was inserted.
    package func defaultVersion(of cell: Int, at life: Life) -> Version {
        let value = cells[cell].map { Field.value(columns[$0].defaultValue) }
        return Version(life.dot, incarnation: life.incarnation, value: value)
    }
}
