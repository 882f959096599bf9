import SyncMerge

/// Commits of many rows, as imports and programs with a form write them.
extension RandomWriter {
    /// Inserts or updates ten to forty rows, most of them of one table; some are deleted.
    mutating func writeMany(tokens: inout Tokens) throws {
        var rows = try replica.read()
        let main = random.below(schema.merge.entities.count)
        let insertShare = random.pick([0.1, 0.6, 0.9])
        for _ in 0..<(10 + random.below(31)) {
            let entity =
                random.chance(0.7) ? main : random.below(schema.merge.entities.count)
            let keys = rows.keys.filter { $0.entity == entity }.sorted(by: schema.merge.precedes)
            if keys.isEmpty || random.chance(insertShare) {
                let row = newRow(in: entity, rows: rows, tokens: &tokens)
                guard try replica.database.run(schema.insert(entity), with: row) != nil else {
                    continue
                }
                let key = schema.merge.entities[entity].key.map { row[$0] }
                rows[schema.merge.key(entity, key)] = row
                continue
            }
            let key = random.pick(keys)
            if random.chance(0.03) {
                try replica.database.run(schema.delete(entity), with: key.values)
                // A cascade may have taken others.
                rows = try replica.read()
                continue
            }
            let written = schema.roles[entity].indices.filter { column in
                let role = schema.roles[entity][column]
                return role == .token && random.chance(0.7) || role == .any && random.chance(0.4)
            }
            if written.isEmpty { continue }
            let row = newRow(in: entity, rows: rows, tokens: &tokens, key: key)
            let update = schema.update(entity, columns: written)
            try replica.database.run(update, with: written.map { row[$0] } + key.values)
        }
    }
}
