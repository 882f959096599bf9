import SyncMerge
import SyncStorage
import SyncValues

/// `sqlite_sequence`: the greatest number that each AUTOINCREMENT table ever had. SQLite raises it
/// for rows that are inserted here; a number that only another replica gave, to a row that was
/// deleted there, must not be given again either.
struct NumberSequences {
    private let schema: ReplicaSchema
    private let statements: StatementCache

    init(_ schema: ReplicaSchema, statements: StatementCache) {
        self.schema = schema
        self.statements = statements
    }

    /// Raises the sequences to the numbers that objects have at the sender of a batch.
    /// - Throws: SQLite errors.
    /// - Complexity: O(numbers)
    func raise(to numbers: [ObjectUID: Int64], entity: (ObjectUID) -> Int?) throws {
        guard !numbers.isEmpty, schema.tables.contains(where: \.isAutoincrement) else { return }
        var greatest: [Int: Int64] = [:]
        for (uid, number) in numbers {
            guard let entity = entity(uid), schema.tables[entity].isAutoincrement else { continue }
            greatest[entity] = max(greatest[entity] ?? 0, number)
        }
        try raise(to: greatest)
    }

    /// Raises the sequences to the shared numbers that objects claim.
    /// - Throws: SQLite errors.
    /// - Complexity: O(objects of the state)
    func raise(toClaimsOf state: MergeState) throws {
        var greatest: [Int: Int64] = [:]
        for (entity, table) in schema.tables.enumerated() where table.isAutoincrement {
            guard let number = state.greatestClaim(of: entity), number > 0 else { continue }
            greatest[entity] = number
        }
        try raise(to: greatest)
    }

    private func raise(to greatest: [Int: Int64]) throws {
        for (entity, number) in greatest.sorted(by: { $0.key < $1.key }) {
            let name = Value.text(schema.tables[entity].name)
            try statements.statement(
                "UPDATE sqlite_sequence SET seq = ?2 WHERE name = ?1 AND seq < ?2"
            ).run(name, .integer(number))
            try statements.statement(
                """
                INSERT INTO sqlite_sequence(name, seq) SELECT ?1, ?2
                WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = ?1)
                """
            ).run(name, .integer(number))
        }
    }
}
