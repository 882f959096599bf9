import SyncMerge

/// The schema of a simulated store: as merging sees it, as SQL, and the role of each column.
package struct SimulatedSchema: Sendable {
    /// What a simulated writer puts into a column.
    package enum Role: Sendable, Hashable {
        /// Text that is never written twice, so that it can be traced.
        case token
        /// One of few texts or numbers, so that writers conflict.
        case text(choices: Int), number(choices: Int)
        /// The same, of the whole range of integers: 2 or 4 of them.
        case extreme(choices: Int)
        /// A private number.
        case privateNumber
        /// One of few texts under a UNIQUE.
        case unique
        /// A number that writers add to.
        case counter
        /// A JSON array of texts that are never written twice.
        case set
        /// Lines that are never written twice.
        case lines
        /// Values of every kind, whatever the column's type.
        case any
        /// Part of a reference; the value is a key of the target.
        case reference
    }

    /// The schema as merging sees it.
    package let merge: MergeSchema
    /// One CREATE TABLE per entity.
    package let tables: [String]
    /// For each entity the UNIQUE index that is no constraint of the table.
    let indexes: [SimulatedIndex?]
    /// Triggers of the user, and the untracked table that they write; of files alone, because
    /// values are written to tables with their triggers.
    let triggers: [String]
    /// One per column of each entity.
    package let roles: [[Role]]
    /// For each entity the columns whose CHECK demands lower case.
    let lowerColumns: [Set<Int>]
    /// What the tables and columns are called now; `merge` has their first names.
    var tableNames: [String]
    var columnNames: [[String]]

    /// Describes a store.
    package init(
        _ merge: MergeSchema, tables: [String], roles: [[Role]] = [],
        indexes: [SimulatedIndex?]? = nil, triggers: [String] = [],
        lowerColumns: [Set<Int>]? = nil
    ) {
        self.lowerColumns = lowerColumns ?? merge.entities.map { _ in [] }
        self.triggers = triggers
        self.merge = merge
        self.indexes = indexes ?? merge.entities.map { _ in nil }
        self.tables = tables
        self.roles = roles
        tableNames = merge.entities.map(\.name)
        columnNames = merge.entities.map { $0.columns.map(\.name) }
    }

    /// The same schema in a file that calls some tables (column '') and columns otherwise than they
    /// were called first.
    func named(as names: [(table: String, column: String, name: String)]) -> SimulatedSchema {
        var schema = self
        for (position, entity) in merge.entities.enumerated() {
            schema.tableNames[position] = entity.name
            schema.columnNames[position] = entity.columns.map(\.name)
            for given in names where given.table.lowercased() == entity.name.lowercased() {
                if given.column.isEmpty { schema.tableNames[position] = given.name }
                let column = entity.columns.firstIndex {
                    $0.name.lowercased() == given.column.lowercased()
                }
                if let column { schema.columnNames[position][column] = given.name }
            }
        }
        return schema
    }

    /// The statements that create the tables and indexes.
    var statements: [String] {
        tables
            + zip(merge.entities, indexes).compactMap { entity, index in
                index?.sql(
                    entity.name + "_index", on: entity.name, columns: entity.columns.map(\.name))
            }
    }

    /// Whether a column has texts that something calls equal although they differ.
    func hasSpellings(_ column: Int, of entity: Int) -> Bool {
        merge.entities[entity].columns[column].collation != .binary
            || indexes[entity]?.lower.contains(column) ?? false
    }

    /// The references of a database that lead to nothing, as `foreign_key_check` has them; not
    /// those that merging takes for text where they are spelled otherwise than the key.
    func danglingReferences(in database: WriterDatabase) throws -> [[Value]] {
        guard let found = try database.run("PRAGMA foreign_key_check") else {
            throw SimulationFailure("the foreign keys cannot be checked")
        }
        return found.filter { row in
            guard case .text(let name) = row[0], case .text(let parent) = row[2],
                let entity = tableNames.firstIndex(of: name)
            else { return true }
            return !merge.entities[entity].references.contains {
                $0.isExact && tableNames[$0.target] == parent
            }
        }
    }

    /// A value of a reference as its CHECK demands it.
    func spelled(_ value: Value, column: Int, of entity: Int) -> Value {
        guard lowerColumns[entity].contains(column), case .text(let text) = value else {
            return value
        }
        return .text(Collation.lowercased(text))
    }

    /// The SQL that reads an entity's rows, one column per column.
    func select(_ entity: Int) -> String {
        "SELECT \(Self.list(columnNames[entity])) FROM \(tableNames[entity])"
    }

    /// The SQL that inserts a row of an entity.
    func insert(_ entity: Int) -> String {
        let names = columnNames[entity]
        let marks = Self.list(names.map { _ in "?" })
        return "INSERT INTO \(tableNames[entity])(\(Self.list(names))) VALUES(\(marks))"
    }

    /// The SQL that deletes a row of an entity by its key.
    func delete(_ entity: Int) -> String {
        "DELETE FROM \(tableNames[entity]) WHERE \(keyMatches(entity))"
    }

    /// The SQL that updates columns of a row of an entity by its key.
    func update(_ entity: Int, columns: [Int]) -> String {
        let assignments = Self.list(columns.map { columnNames[entity][$0] + "=?" })
        return "UPDATE \(tableNames[entity]) SET \(assignments) WHERE \(keyMatches(entity))"
    }

    private func keyMatches(_ entity: Int) -> String {
        let names = columnNames[entity]
        return merge.entities[entity].key.map { names[$0] + "=?" }.joined(separator: " AND ")
    }

    private static func list(_ names: [String]) -> String { names.joined(separator: ",") }
}
