/// Makes the tables equal to an image, row by row.
///
/// SQLite checks UNIQUE at each row, so that rows whose key or claims change are deleted before any
/// is inserted; REPLACE is never used. Foreign keys are off on the connection.
struct TableWriter {
    /// What became of a row.
    struct Difference {
        /// The values before; nil for a new row.
        let before: [Value]?
        /// The values after; nil for a row that goes.
        let after: [Value]?

        /// The columns that differ.
        var columns: [Int] {
            guard let before, let after else { return [] }
            return before.indices.filter { before[$0] != after[$0] }
        }
    }

    private let tables: [MergedTable]
    private let statements: StatementCache

    init(_ tables: [MergedTable], _ statements: StatementCache) {
        self.tables = tables
        self.statements = statements
    }

    /// What has to be written so that `old` becomes `new`.
    static func differences(
        from old: [RowKey: [Value]], to new: [RowKey: [Value]]
    ) -> [RowKey: Difference] {
        var differences: [RowKey: Difference] = [:]
        for (key, row) in old where new[key] != row {
            differences[key] = Difference(before: row, after: new[key])
        }
        for (key, row) in new where old[key] == nil {
            differences[key] = Difference(before: nil, after: row)
        }
        return differences
    }

    /// Writes the differences.
    /// - Throws: `refused` when a constraint that merging does not know forbids a row.
    func write(_ differences: [RowKey: Difference]) throws {
        let ordered = differences.sorted { $0.key.precedes($1.key) }
        var prepared: [Work: Statement] = [:]
        func run(_ work: Work, _ values: [Value]) throws {
            let statement = try prepared[work] ?? statements.statement(sql(work))
            prepared[work] = statement
            statement.bind(values)
            try statement.run()
        }
        for (key, difference) in ordered where isMoving(key, difference) {
            try run(.delete(key.entity), key.values)
        }
        for (key, difference) in ordered where !isMoving(key, difference) {
            guard let after = difference.after, difference.before != nil else { continue }
            let columns = difference.columns
            try run(.update(key.entity, columns), columns.map { after[$0] } + key.values)
        }
        for (key, difference) in ordered {
            guard let after = difference.after else { continue }
            guard difference.before == nil || isMoving(key, difference) else { continue }
            try run(.insert(key.entity), after)
        }
    }

    private enum Work: Hashable {
        case insert(Int)
        case update(Int, [Int])
        case delete(Int)
    }

    private func sql(_ work: Work) -> String {
        switch work {
        case .insert(let entity): return tables[entity].insert
        case .update(let entity, let columns): return tables[entity].update(columns)
        case .delete(let entity): return tables[entity].delete
        }
    }

    /// The row goes, or changes in a column under a UNIQUE.
    private func isMoving(_ key: RowKey, _ difference: Difference) -> Bool {
        guard difference.before != nil else { return false }
        guard difference.after != nil else { return true }
        let claimed = tables[key.entity].claimed
        return difference.columns.contains(where: claimed.contains)
    }
}
