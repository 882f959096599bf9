import CSQLite
import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

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
    private let triggers: FiringTriggers

    init(_ tables: [MergedTable], _ statements: StatementCache, _ triggers: FiringTriggers) {
        self.tables = tables
        self.statements = statements
        self.triggers = triggers
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

    /// Writes the differences; without any trigger when one of the user's fails: what they do comes
    /// after what the replicas agree on.
    /// - Throws: `refused` when a constraint that merging does not know forbids a row.
    func write(_ differences: [RowKey: Difference]) throws {
        let ordered = differences.sorted { $0.key.precedes($1.key) }
        guard triggers.isNeeded else { return try write(ordered) { _ in } }
        let connection = statements.connection
        try RawTransaction.execute(connection, "SAVEPOINT syncd_triggers")
        do {
            try write(ordered, triggers.prepare)
        } catch {
            guard sqlite3_get_autocommit(connection) == 0 else { throw error }
            try RawTransaction.execute(connection, "ROLLBACK TO syncd_triggers")
            triggers.hold()
            try write(ordered) { _ in }
        }
        try RawTransaction.execute(connection, "RELEASE syncd_triggers")
    }

    private func write(
        _ ordered: [(key: RowKey, value: Difference)], _ prepare: (_ entity: Int) -> Void
    ) throws {
        var prepared: [Work: Statement] = [:]
        func run(_ work: Work, _ values: [Value]) throws {
            prepare(work.entity)
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

        var entity: Int {
            switch self {
            case .insert(let entity), .update(let entity, _), .delete(let entity): entity
            }
        }
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
