import GRDB
import SyncCore

/// Makes a model from the schema of an existing database, which stays as it is.
///
/// A table is an entity, a column an attribute; a foreign key of one column is a to-one
/// relationship named like the column without its `Id`; the way back is named like the table it
/// comes from. A table whose key is two foreign keys and which has nothing else is a many-to-many
/// relationship.
struct ModelReader {
    private let db: Database
    private var tables: [Table] = []
    /// Tables that no entity was made of, each with the reason.
    private(set) var notes: [String] = []

    private struct Table {
        let name: String
        var columns: [ColumnInfo]
        let key: [String]
        let isRowIDKey: Bool
        let references: [Reference]

        /// The key is two references and there is nothing else.
        var isJoin: Bool {
            key.count == 2 && columns.count == 2 && references.count == 2
                && Set(references.map(\.column)) == Set(key)
        }
    }

    private struct Reference {
        let column: String
        let target: String
        let cascades: Bool
        let restricts: Bool
        let setsNull: Bool
    }

    init(_ db: Database) throws {
        self.db = db
        try readTables()
    }

    private mutating func readTables() throws {
        let names = try String.fetchAll(
            db,
            sql: """
                SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%'
                ESCAPE '\\' AND name <> 'sync_objects' AND name NOT LIKE 'syncd\\_%' ESCAPE '\\'
                AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name
                """)
        let hidden = try Set(
            Row.fetchAll(db, sql: "SELECT name FROM pragma_table_list WHERE type = 'shadow'")
                .map { $0[0] as String })
        for name in names where !hidden.contains(name) {
            let columns = try db.columns(in: name)
            let key = try db.primaryKey(name)
            guard key.columns != [Column.rowID.name], !key.columns.isEmpty else {
                notes.append("“\(name)” has no key: its rows have no identity that lasts")
                continue
            }
            let references = try db.foreignKeys(on: name).compactMap { foreignKey -> Reference? in
                guard foreignKey.mapping.count == 1 else { return nil }
                return try reference(foreignKey, in: name)
            }
            tables.append(
                Table(
                    name: name, columns: columns, key: key.columns,
                    isRowIDKey: key.rowIDColumn != nil, references: references))
        }
    }

    private func reference(_ key: ForeignKeyInfo, in table: String) throws -> Reference? {
        let target = try db.primaryKey(key.destinationTable)
        guard target.columns.count == 1,
            key.mapping[0].destination.lowercased() == target.columns[0].lowercased()
        else { return nil }
        let action = try String.fetchOne(
            db,
            sql: "SELECT on_delete FROM pragma_foreign_key_list(?) WHERE \"from\" = ?",
            arguments: [table, key.mapping[0].origin])
        return Reference(
            column: key.mapping[0].origin, target: key.destinationTable,
            cascades: action == "CASCADE", restricts: action != "SET NULL" && action != "CASCADE",
            setsNull: action == "SET NULL")
    }

    func entities() -> [EntityDescription] {
        var names: [String: Set<String>] = [:]
        var entities: [String: EntityDescription] = [:]
        let nodes = tables.filter { !$0.isJoin }
        for table in nodes {
            entities[table.name] = entity(table)
            names[table.name] = Set(table.columns.map { $0.name.lowercased() })
        }
        let free = { (wanted: [String], entity: String) -> String in
            let choice =
                wanted.first { names[entity]?.contains($0.lowercased()) != true }
                ?? wanted.last.map { $0 + "_relation" } ?? "relation"
            names[entity, default: []].insert(choice.lowercased())
            return choice
        }
        for table in nodes {
            for reference in table.references where entities[reference.target] != nil {
                guard let column = table.columns.first(where: { $0.name == reference.column })
                else { continue }
                let name = free(
                    [Self.stem(column.name), column.name + "_" + reference.target], table.name)
                let back = free(
                    [table.name, "\(table.name)_\(column.name)"], reference.target)
                var one = RelationshipDescription.toOne(
                    name, to: reference.target, inverse: back, optional: !column.isNotNull)
                one.column = column.name
                entities[table.name]?.relationships.append(one)
                entities[reference.target]?.relationships.append(
                    .toMany(
                        back, to: table.name, inverse: name,
                        deleteRule: reference.cascades
                            ? .cascade : reference.setsNull ? .nullify : .deny))
            }
        }
        for table in tables where table.isJoin {
            addJoin(table, to: &entities, naming: free)
        }
        return nodes.compactMap { entities[$0.name] }
    }

    private func addJoin(
        _ table: Table, to entities: inout [String: EntityDescription],
        naming free: ([String], String) -> String
    ) {
        let (left, right) = (table.references[0], table.references[1])
        guard entities[left.target] != nil, entities[right.target] != nil else { return }
        let leftName = free([right.target, table.name + "_" + right.column], left.target)
        let rightName = free([left.target, table.name + "_" + left.column], right.target)
        var forward = RelationshipDescription.toMany(leftName, to: right.target, inverse: rightName)
        forward.joinTable = .init(table: table.name, source: left.column, target: right.column)
        var backward = RelationshipDescription.toMany(rightName, to: left.target, inverse: leftName)
        backward.joinTable = .init(table: table.name, source: right.column, target: left.column)
        entities[left.target]?.relationships.append(forward)
        entities[right.target]?.relationships.append(backward)
    }

    private func entity(_ table: Table) -> EntityDescription {
        let referencing = Set(table.references.map { $0.column.lowercased() })
        let known = Set(tables.filter { !$0.isJoin }.map { $0.name.lowercased() })
        let attributes = table.columns.filter { column in
            let isReference =
                referencing.contains(column.name.lowercased())
                && table.references.contains {
                    $0.column == column.name && known.contains($0.target.lowercased())
                }
            return !isReference || table.key.contains(column.name)
        }.map { column -> AttributeDescription in
            let isKey = table.isRowIDKey && table.key.contains(column.name)
            let hasDefault = column.defaultValueSQL != nil
            return AttributeDescription(
                column.name, Self.type(column.type),
                optional: !column.isNotNull || isKey || hasDefault)
        }
        var entity = EntityDescription(table.name, attributes: attributes)
        entity.table = table.name
        entity.keyColumns = table.key.map { .init($0, isRowID: table.isRowIDKey) }
        return entity
    }

    /// By the rules of column affinity, with the names that people use for dates and truth values.
    static func type(_ declared: String) -> AttributeType {
        let name = declared.uppercased()
        if name.isEmpty { return .any }
        if name.contains("BOOL") { return .boolean }
        if name.contains("DATE") || name.contains("TIME") { return .date }
        if name.contains("INT") { return .integer64 }
        if name.contains("UUID") { return .uuid }
        if name.contains("CHAR") || name.contains("CLOB") || name.contains("TEXT") {
            return .string
        }
        if name.contains("BLOB") { return .binary }
        if name.contains("ANY") || name.contains("JSON") { return .any }
        return .double
    }

    /// `ArtistId` and `artist_id` without the `Id`.
    private static func stem(_ column: String) -> String {
        for ending in ["_id", "Id", "ID", "_ID"] where column.hasSuffix(ending) {
            let stem = column.dropLast(ending.count)
            if !stem.isEmpty { return String(stem) }
        }
        return column
    }
}

extension ManagedObjectModel {
    /// The model of an existing database, made from its schema. The database stays as it is.
    ///
    /// - Parameters:
    ///   - db: A connection to the database.
    ///   - classes: The Swift classes of some of the entities, by table name.
    /// - Returns: The model, and a line for each table left out, with the reason.
    /// - Throws: ``ObjectError/Code/invalidModel`` when the tables make no valid model; GRDB's
    ///   error when the schema cannot be read.
    public static func reading(
        _ db: Database, classes: [String: any EntityObject.Type] = [:]
    ) throws -> (model: ManagedObjectModel, notes: [String]) {
        let reader = try ModelReader(db)
        let entities = reader.entities().map { entity in
            var entity = entity
            entity.objectClass = classes[entity.name]
            return entity
        }
        return (try ManagedObjectModel(entities), reader.notes)
    }
}
