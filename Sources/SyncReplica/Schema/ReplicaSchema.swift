import SyncMerge
import SyncStorage

/// The tracked tables of a store as merging sees them.
///
/// Entities are in the order of their folded names: the same on every replica with this schema.
struct ReplicaSchema: Sendable {
    /// The schema for merging.
    let merge: MergeSchema
    /// The tables, in the order of the entities.
    let tables: [MergedTable]
    /// The tracked tables that are not among them.
    let unmerged: [UnmergedTable]
    /// By folded name.
    private let positions: [String: Int]

    /// The position of an entity; nil when it is not tracked.
    func position(of name: String) -> Int? { positions[SQLName.folded(name)] }

    /// The columns of an entity by folded name.
    func column(_ name: String, of entity: Int) -> Int? {
        let folded = SQLName.folded(name)
        return tables[entity].columns.firstIndex { SQLName.folded($0) == folded }
    }

    /// Reads tables for merging.
    /// - Parameter tables: the tracked ones.
    /// - Throws: `cannotTrack` for a policy that cannot be followed, with table and reason.
    /// - Complexity: O(schema)
    init(_ tables: [TableSchema], policies: MergePolicies) throws {
        unmerged = UnmergedTable.all(among: tables)
        let left = Set(unmerged.map(\.name))
        let tables = tables.filter { !left.contains($0.name) }.sorted {
            SQLName.folded($0.name) < SQLName.folded($1.name)
        }
        let names = tables.map { SQLName.folded($0.name) }
        positions = Dictionary(zip(names, names.indices)) { first, _ in first }
        let rules = try RuleDatabase()
        for table in tables { try rules.add(table) }
        let translator = SchemaTranslator(
            tables: tables, positions: positions, policies: policies, rules: rules)
        let translated = try tables.map(translator.translated)
        merge = MergeSchema(translated.map(\.entity))
        self.tables = zip(tables, translated).map { table, translated in
            MergedTable(table, entity: translated.entity, claims: translated.claims)
        }
    }
}
