import SyncMerge
import SyncStorage

/// The tracked tables of a store as merging sees them.
///
/// The entities and columns of ``merge`` bear their identities, those of ``tables`` their present
/// names. Entities are in the order of their folded identities: the same on every replica with this
/// schema.
struct ReplicaSchema: Sendable {
    /// The schema for merging.
    let merge: MergeSchema
    /// The tables, in the order of the entities.
    let tables: [MergedTable]
    /// What facts call the tables and columns.
    let names: SchemaNames
    /// The tracked tables that are not among them.
    let unmerged: [UnmergedTable]
    /// By folded name.
    private let positions: [String: Int]
    /// The tables in memory, without rows.
    let rules: RuleDatabase

    /// The position of a table by its present name; nil when it is not tracked.
    func position(of name: String) -> Int? { positions[SQLName.folded(name)] }

    /// The position of an entity by its identity; nil when it has no tracked table.
    func position(ofEntity identity: String) -> Int? {
        merge.entities.firstIndex { SQLName.isEqual($0.name, to: identity) }
    }

    /// The position of a column by its identity; nil when the table has no such column.
    func position(ofColumn identity: String, entity: Int) -> Int? {
        merge.entities[entity].columns.firstIndex { SQLName.isEqual($0.name, to: identity) }
    }

    /// The position of a column of an entity by its present name.
    func column(_ name: String, of entity: Int) -> Int? {
        let folded = SQLName.folded(name)
        return tables[entity].columns.firstIndex { SQLName.folded($0) == folded }
    }

    /// Reads tables for merging.
    /// - Parameters:
    ///   - tables: the tracked ones.
    ///   - policies: by identities.
    /// - Throws: `cannotTrack` for a policy that cannot be followed, with table and reason.
    /// - Complexity: O(schema)
    init(_ tables: [TableSchema], names: SchemaNames, policies: MergePolicies) throws {
        func identity(_ table: TableSchema) -> String {
            SQLName.folded(names.identity(ofTable: table.name))
        }
        unmerged = UnmergedTable.all(among: tables)
        let left = Set(unmerged.map(\.name))
        let tables = tables.filter { !left.contains($0.name) }
            .sorted { identity($0) < identity($1) }
        let present = tables.map { SQLName.folded($0.name) }
        positions = Dictionary(zip(present, present.indices)) { first, _ in first }
        self.names = names
        rules = try RuleDatabase()
        for table in tables { try rules.add(table) }
        let translator = SchemaTranslator(
            tables: tables, positions: positions, names: names, policies: policies, rules: rules)
        let translated = try tables.map(translator.translated)
        merge = MergeSchema(translated.map(\.entity))
        self.tables = zip(tables, translated).map { table, translated in
            MergedTable(table, entity: translated.entity, claims: translated.claims)
        }
    }
}

extension ReplicaSchema {
    /// Whether a fact is about a column that this replica has dropped.
    func hasDropped(_ columns: [String], of entity: String) -> Bool {
        columns.contains { column in
            names.column(column, of: entity).map { $0.name == nil } ?? false
        }
    }
}
