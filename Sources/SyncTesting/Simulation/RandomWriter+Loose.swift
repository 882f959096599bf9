import SyncMerge

/// Writers without foreign keys.
extension RandomWriter {
    /// Inserts a row, or writes a reference of one, that may refer to a row which is not there.
    mutating func writeLoosely(tokens: inout Tokens) throws {
        let rows = try replica.read()
        let entities = schema.merge.entities.indices.filter {
            !schema.merge.entities[$0].references.isEmpty
        }
        guard let first = entities.first else { return }
        let entity = entities.count == 1 ? first : random.pick(entities)
        let references = schema.merge.entities[entity].references
        let keys = rows.keys.filter { $0.entity == entity }.sorted(by: schema.merge.precedes)
        let key = keys.isEmpty || random.chance(0.5) ? nil : random.pick(keys)
        var row = newRow(in: entity, rows: rows, tokens: &tokens, key: key)
        var columns: [Int] = []
        for reference in references where references.count == 1 || random.chance(0.7) {
            for column in reference.columns { row[column] = looseValue(column, of: entity) }
            columns += reference.columns
        }
        guard let key else {
            try replica.database.run(schema.insert(entity), with: row)
            return
        }
        columns.removeAll(where: schema.merge.entities[entity].key.contains)
        if columns.isEmpty { return }
        try replica.database.run(
            schema.update(entity, columns: columns), with: columns.map { row[$0] } + key.values)
    }

    /// A value that a key may have to which a column refers.
    private mutating func looseValue(_ column: Int, of entity: Int) -> Value {
        var (entity, column) = (entity, column)
        // Tables may refer to each other in circles.
        for _ in 0...schema.merge.entities.count {
            let reference = schema.merge.entities[entity].references.first {
                $0.columns.contains(column)
            }
            guard let reference, let part = reference.columns.firstIndex(of: column) else { break }
            entity = reference.target
            column = schema.merge.entities[entity].key[part]
        }
        switch schema.roles[entity][column] {
        case .text(let choices): return .text("k\(random.below(choices + 1))")
        case .number(let choices): return .integer(Int64(random.below(choices + 1)))
        default: return .integer(Int64(1 + random.below(4)))
        }
    }
}
