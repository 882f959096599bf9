import CSQLite
import SyncMerge
import SyncStorage
import SyncValues

/// Makes the tables equal to an image, row by row.
///
/// SQLite checks UNIQUE at each row, so that rows whose key or claims change are deleted before any
/// is inserted; REPLACE is never used. Foreign keys are off on the connection.
struct TableWriter {
    private let tables: [MergedTable]
    private let entities: [MergeEntity]
    private let statements: StatementCache
    private let triggers: FiringTriggers

    init(_ schema: ReplicaSchema, statements: StatementCache, triggers: FiringTriggers) {
        tables = schema.tables
        entities = schema.merge.entities
        self.statements = statements
        self.triggers = triggers
    }

    /// The writes that turn `old` into `new`.
    /// - Parameter replaced: keys under which another object has its row now.
    /// - Complexity: O(rows)
    static func differences(
        from old: [RowKey: [Value]], to new: [RowKey: [Value]], replaced: [RowKey] = []
    ) -> [RowKey: RowDifference] {
        var differences: [RowKey: RowDifference] = [:]
        for (key, row) in old where new[key] != row {
            differences[key] = RowDifference(before: row, after: new[key])
        }
        for (key, row) in new where old[key] == nil {
            differences[key] = RowDifference(before: nil, after: row)
        }
        for key in replaced {
            differences[key] = RowDifference(
                before: old[key], after: new[key], isReplaced: true)
        }
        return differences
    }

    /// Writes the differences. When a trigger of the user fails, they are written again without any
    /// trigger: the rows that the replicas agree on have priority.
    /// - Throws: `refused` for a row that another one, or a constraint that merging does not know,
    ///   keeps out (``RowInTheWay``); SQLite errors.
    /// - Complexity: O(differences)
    func write(_ differences: [RowKey: RowDifference]) throws {
        let ordered = differences.sorted { $0.key.precedes($1.key) }
        guard triggers.isNeeded else { return try write(ordered, preparing: { _ in }) }
        let connection = statements.connection
        try RawTransaction.execute("SAVEPOINT syncd_triggers", on: connection)
        do {
            try write(ordered, preparing: triggers.prepare)
        } catch {
            guard sqlite3_get_autocommit(connection) == 0 else { throw error }
            try RawTransaction.execute("ROLLBACK TO syncd_triggers", on: connection)
            triggers.disable()
            try write(ordered, preparing: { _ in })
        }
        try RawTransaction.execute("RELEASE syncd_triggers", on: connection)
    }

    private func write(
        _ ordered: [(key: RowKey, value: RowDifference)], preparing prepare: (_ entity: Int) -> Void
    ) throws {
        var prepared: [Work: Statement] = [:]
        func run(_ work: Work, for row: [Value], with values: [Value]) throws {
            prepare(work.entity)
            let statement = try prepared[work] ?? statements.statement(sql(work))
            prepared[work] = statement
            statement.bind(values)
            guard try !statement.runUnlessRefused() else { return }
            throw try refusal(of: row, entity: work.entity)
        }
        for (key, difference) in ordered where isMoved(by: difference, at: key) {
            try run(.delete(key.entity), for: difference.before ?? [], with: key.values)
        }
        for (key, difference) in ordered where !isMoved(by: difference, at: key) {
            guard let after = difference.after, difference.before != nil else { continue }
            let columns = difference.columns
            try run(
                .update(key.entity, columns), for: after,
                with: columns.map { after[$0] } + key.values)
        }
        for (key, difference) in ordered {
            guard let after = difference.after else { continue }
            guard difference.before == nil || isMoved(by: difference, at: key) else { continue }
            try run(.insert(key.entity), for: after, with: after)
        }
    }

    private func refusal(of row: [Value], entity: Int) throws -> SyncError {
        let message = String(cString: sqlite3_errmsg(statements.connection))
        let found = try RowInTheWay(
            of: row, in: tables[entity], entities[entity], statements: statements)
        return found?.error ?? RowInTheWay.error(of: row, in: tables[entity], message)
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

    /// Whether the row is deleted, or changes in a column under a UNIQUE.
    private func isMoved(by difference: RowDifference, at key: RowKey) -> Bool {
        guard difference.before != nil else { return false }
        guard difference.after != nil, !difference.isReplaced else { return true }
        let claimed = tables[key.entity].claimed
        return difference.columns.contains(where: claimed.contains)
    }
}
