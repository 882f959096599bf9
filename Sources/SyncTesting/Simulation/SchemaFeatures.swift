import SyncMerge
import SyncReplica

/// What people have in a schema beside tables and indexes: views, views of views, untracked tables,
/// full-text tables, and triggers that write these. A clone has all of it, at any time.
struct SchemaFeatures {
    /// The statements, in an order in which they can be run.
    let statements: [String]

    /// Draws features for a schema.
    /// - Returns: nil: the schema of this seed has none.
    init?(_ schema: SimulatedSchema, seed: UInt64) {
        var random = SeededRandom(seed: seed &+ 0x12_0000_0000)
        guard random.chance(0.4) else { return nil }
        var statements = [
            "CREATE TABLE feature_log(what TEXT, n INTEGER)",
            "CREATE VIRTUAL TABLE feature_words USING fts5(word)",
        ]
        for number in 0..<random.pick([1, 2, 4]) {
            let entity = random.pick(schema.merge.entities)
            let columns = entity.columns.map { "\"\($0.name)\"" }.joined(separator: ", ")
            statements.append(
                "CREATE VIEW feature_v\(number) AS SELECT \(columns) FROM \(entity.name)")
            if random.chance(0.5) {
                statements.append(
                    "CREATE VIEW feature_w\(number) AS SELECT count(*) AS n FROM feature_v\(number)"
                )
            }
            let event = random.pick(["INSERT", "UPDATE", "DELETE"])
            let row = event == "DELETE" ? "old" : "new"
            let column = "\(row).\"\(random.pick(entity.columns).name)\""
            let write =
                random.chance(0.5)
                ? "INSERT INTO feature_log VALUES ('\(event)', length(\(column)))"
                : "INSERT INTO feature_words(word) VALUES (\(column))"
            statements.append(
                """
                CREATE TRIGGER feature_t\(number) AFTER \(event) ON \(entity.name) BEGIN
                  \(write); END
                """)
        }
        self.statements = statements
    }

    /// Checks that a new replica has the features, and the schema that the store states.
    /// - Throws: ``SimulationFailure``.
    func check(_ clone: SimulatedStore) throws {
        let rows = try clone.database.run(
            "SELECT sql FROM sqlite_schema WHERE name LIKE 'feature%' AND sql IS NOT NULL")
        let present = Set(
            (rows ?? []).compactMap { row -> String? in
                if case .text(let sql) = row[0] { return sql }
                return nil
            })
        for statement in statements where !present.contains(statement) {
            throw SimulationFailure("a new replica lacks: \(statement)")
        }
        guard let comparison = try clone.replica.compareSchema() else {
            throw SimulationFailure("a new replica does not know the schema of the store")
        }
        guard comparison.isEqual else {
            throw SimulationFailure("a new replica differs from the store's schema: \(comparison)")
        }
    }
}
