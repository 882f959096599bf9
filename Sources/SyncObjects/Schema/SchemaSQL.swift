import SyncCore

/// The tables of a model, as SQL that any program can live with: one table for each entity
/// hierarchy, one column for each attribute, foreign keys with the delete rules, an index wherever
/// a relationship is followed.
struct SchemaSQL {
    let model: ManagedObjectModel

    /// Tables, then indexes. Tables of an existing database are not made again.
    var statements: [String] {
        let tables = model.tables.filter(\.isManaged)
        return tables.map { createTable($0) } + tables.map(startSequence)
            + tables.flatMap(createIndexes)
            + model.joins.filter(\.isManaged).flatMap { [createJoin($0), createJoinIndex($0)] }
    }

    func createTable(_ table: TableLayout, as name: String? = nil) -> String {
        var lines = ["\(SQLText.quoted("id")) INTEGER PRIMARY KEY AUTOINCREMENT"]
        if let kind = table.kindColumn { lines.append("\(SQLText.quoted(kind)) TEXT NOT NULL") }
        lines += table.columns.map(definition)
        let body = lines.map { "  " + $0 }.joined(separator: ",\n")
        return "CREATE TABLE \(SQLText.quoted(name ?? table.name))(\n\(body))"
    }

    /// The row of a new table in SQLite's own table of highest keys, from which keys are reserved.
    func startSequence(_ table: TableLayout) -> String {
        "INSERT INTO sqlite_sequence(name, seq) VALUES (\(Value.text(table.name)), 0)"
    }

    func definition(_ column: TableLayout.Column) -> String {
        var text = SQLText.quoted(column.name)
        if column.type != "BLOB" || column.coding.type != .any { text += " " + column.type }
        if column.isMandatory { text += " NOT NULL" }
        if column.defaultValue != .null { text += " DEFAULT \(column.defaultValue)" }
        if let reference = column.reference { text += foreignKey(reference.relation) }
        return text
    }

    /// The rule of the relationship that leads back decides what becomes of this row.
    private func foreignKey(_ relationship: RelationshipDescription) -> String {
        guard let destination = model.layouts[relationship.destination],
            destination.table.key.count == 1
        else { return "" }
        let inverse = relationship.inverse.flatMap { destination.relation($0)?.description }
        let action: String
        switch inverse?.deleteRule ?? .nullify {
        case .noAction: return ""
        case .cascade: action = " ON DELETE CASCADE"
        case .nullify: action = " ON DELETE SET NULL"
        case .deny: action = ""
        }
        let key = SQLText.quoted(destination.table.key[0].column)
        return " REFERENCES \(SQLText.quoted(destination.table.name))(\(key))\(action)"
            + " DEFERRABLE INITIALLY DEFERRED"
    }

    func createIndexes(_ table: TableLayout) -> [String] {
        var statements: [String] = []
        for column in table.columns where column.reference != nil {
            statements.append(index(on: table, columns: [column.name], unique: false))
        }
        for layout in model.layouts.values.sorted(by: { $0.name < $1.name })
        where layout.table === table {
            for names in layout.description.uniquenessConstraints {
                let columns = names.compactMap { columnName(of: $0, in: layout) }
                statements.append(index(on: table, columns: columns, unique: true))
            }
            for names in layout.description.indexes {
                let columns = names.compactMap { columnName(of: $0, in: layout) }
                let isThere =
                    columns.count == 1
                    && table.columns.contains { $0.name == columns[0] && $0.reference != nil }
                if !isThere { statements.append(index(on: table, columns: columns, unique: false)) }
            }
        }
        return statements
    }

    private func columnName(of property: String, in layout: EntityLayout) -> String? {
        layout.slot(property)?.column.map { layout.table.columns[$0].name }
    }

    private func index(on table: TableLayout, columns: [String], unique: Bool) -> String {
        let name = SQLText.quoted(
            ([table.name] + columns).joined(separator: "_") + (unique ? "_unique" : ""))
        return "CREATE \(unique ? "UNIQUE " : "")INDEX \(name) "
            + "ON \(SQLText.quoted(table.name))(\(SQLText.list(columns)))"
    }

    func createJoin(_ join: JoinLayout) -> String {
        let side = { (column: String, entity: String) -> String in
            guard let table = model.layouts[entity]?.table else { return SQLText.quoted(column) }
            return "  \(SQLText.quoted(column)) INTEGER NOT NULL REFERENCES "
                + "\(SQLText.quoted(table.name))(\(SQLText.quoted(table.key[0].column)))"
                + " ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED"
        }
        var lines = [
            side(join.sourceColumn, join.sourceEntity), side(join.targetColumn, join.targetEntity),
        ]
        lines += [join.targetOrderColumn, join.sourceOrderColumn].compactMap { $0 }
            .map { "  \(SQLText.quoted($0)) REAL" }
        lines.append("  PRIMARY KEY(\(SQLText.list([join.sourceColumn, join.targetColumn])))")
        return "CREATE TABLE \(SQLText.quoted(join.table))(\n\(lines.joined(separator: ",\n")))"
            + " WITHOUT ROWID"
    }

    func createJoinIndex(_ join: JoinLayout) -> String {
        let name = SQLText.quoted("\(join.table)_\(join.targetColumn)")
        let columns = SQLText.list([join.targetColumn, join.sourceColumn])
        return "CREATE INDEX \(name) ON \(SQLText.quoted(join.table))(\(columns))"
    }
}
