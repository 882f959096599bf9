import SyncMerge
import SyncStorage

/// Finds the rows with private numbers that two databases have in common, and writes their
/// identities in the store into `syncd_join`. The other database is attached as `theirs`: a replica
/// of the store.
///
/// Keys that are no private numbers need no match: they identify by value. SQLite compares, by
/// affinity and collation of the columns. Each row is matched once.
struct JoinMatch {
    private let connection: OpaquePointer
    /// The tables with private numbers that both have.
    private let tables: [TableSchema]
    private let schema: ReplicaSchema
    private let columns: [String: Set<String>]

    /// - Parameter schema: of the database that joins, under the policies of the store.
    /// - Throws: SQLite errors.
    init(
        _ connection: OpaquePointer, tables mine: [TableSchema], schema: ReplicaSchema
    ) throws {
        self.connection = connection
        self.schema = schema
        let pragma = try Statement(
            "SELECT name FROM pragma_table_xinfo(?1, 'theirs')", on: connection)
        var columns: [String: Set<String>] = [:]
        tables = try mine.filter { table in
            guard let position = schema.position(of: table.name),
                schema.merge.entities[position].isPrivate
            else { return false }
            pragma.bind(table.name, at: 1)
            var names: Set<String> = []
            while try pragma.step() { names.insert(SQLName.folded(pragma.text(0) ?? "")) }
            pragma.reset()
            columns[SQLName.folded(table.name)] = names
            return names.contains(SQLName.folded(table.key[0]))
        }
        self.columns = columns
    }

    static let createPairsSQL = """
        CREATE TEMP TABLE syncd_pair(entity TEXT, mine INTEGER, theirs INTEGER,
          UNIQUE(entity, mine), UNIQUE(entity, theirs))
        """

    /// The `+` takes the affinity from the number: with it the index of keys cannot be used.
    static let insertIdentitiesSQL = """
        INSERT OR IGNORE INTO main.syncd_join(entity, number, uid)
        SELECT p.entity, p.mine, o.uid FROM temp.syncd_pair p
        JOIN theirs.syncd_shape s ON s.name = ?2
        JOIN theirs.syncd_object o ON o.shape = s.id AND o.key = +p.theirs AND o.key IS NOT NULL
        WHERE p.entity = ?1
        """

    /// Writes the identities of the matched rows.
    /// - Returns: how many rows are the same objects.
    /// - Throws: SQLite errors.
    /// - Complexity: O(n log n) in the rows.
    func write(_ method: JoinMethod) throws -> Int {
        try RawTransaction.execute(Self.createPairsSQL, on: connection)
        defer { try? RawTransaction.execute("DROP TABLE temp.syncd_pair", on: connection) }
        switch method {
        case .byKey: for table in tables { _ = try pair(table, on: [table.key[0]]) }
        case .byUnique:
            // What refers to a matched row may match by that: until nothing is found any more.
            while try tables.reduce(0, { try $0 + pairs(of: $1) }) > 0 {}
        case .separate: break
        }
        let insert = try Statement(Self.insertIdentitiesSQL, on: connection)
        return try tables.reduce(0) { count, table in
            let identity = schema.names.identity(ofTable: table.name)
            try insert.run(
                .text(SQLName.folded(table.name)), .text(SQLName.folded(identity)))
            return count + insert.changes
        }
    }

    /// The time of the oldest transaction of the store, ms since 1970.
    /// - Throws: SQLite errors.
    /// - Complexity: O(transactions)
    func beginning() throws -> Int64 {
        let oldest = try Statement("SELECT min(time) FROM theirs.syncd_header", on: connection)
        guard try oldest.step() else { return 0 }
        return HybridTime(rawValue: UInt64(bitPattern: oldest.integer(0))).milliseconds
    }

    /// Matches by each UNIQUE constraint.
    private func pairs(of table: TableSchema) throws -> Int {
        try table.alternateKeys.filter { !$0.isExpression && !$0.isPartial }.reduce(0) {
            let names = $1.terms.compactMap(\.column)
            let known = columns[SQLName.folded(table.name)] ?? []
            guard names.allSatisfy({ known.contains(SQLName.folded($0)) }) else { return $0 }
            return try $0 + pair(table, on: names)
        }
    }

    /// Matches rows with equal values.
    private func pair(_ table: TableSchema, on names: [String]) throws -> Int {
        let name = SQLName.quoted(table.name)
        let key = SQLName.quoted(table.key[0])
        let conditions = names.map { column in
            let quoted = SQLName.quoted(column)
            guard let parent = parent(of: column, in: table) else {
                return "m.\(quoted) = t.\(quoted)"
            }
            return """
                EXISTS (SELECT 1 FROM temp.syncd_pair p WHERE p.entity = \(literal(parent))
                  AND p.mine = m.\(quoted) AND p.theirs = t.\(quoted))
                """
        }
        let insert = try Statement(
            """
            INSERT OR IGNORE INTO temp.syncd_pair
            SELECT \(literal(table.name)), m.\(key), t.\(key)
            FROM main.\(name) m JOIN theirs.\(name) t ON \(conditions.joined(separator: " AND "))
            ORDER BY 2, 3
            """, on: connection)
        try insert.run()
        return insert.changes
    }

    /// The table with private numbers that a column refers to.
    private func parent(of column: String, in table: TableSchema) -> String? {
        let key = table.foreignKeys.first {
            $0.columns.count == 1 && SQLName.isEqual($0.columns[0], to: column)
        }
        return key.flatMap { key in
            tables.first { SQLName.isEqual($0.name, to: key.parent) }?.name
        }
    }

    private func literal(_ name: String) -> String { SQLName.literal(SQLName.folded(name)) }
}
