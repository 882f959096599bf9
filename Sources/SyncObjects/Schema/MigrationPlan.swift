import SyncCore

/// The SQL that turns the tables of one model into those of another, values kept.
///
/// Columns are added and renamed in place, so that triggers stay; a table is rebuilt only for what
/// SQLite cannot alter. Keys never change, and the highest key that was ever given out is carried
/// over.
struct MigrationPlan {
    let old: ManagedObjectModel
    let new: ManagedObjectModel
    private let diff: ModelDiff

    /// - Parameter vouched: A stage converts the rows: nothing blocks, and values are cast.
    /// - Throws: ``ObjectError/Code/cannotMigrate`` with one detail for each change that blocks.
    init(
        from old: ManagedObjectModel, to new: ManagedObjectModel, vouched: Bool = false
    ) throws {
        self.old = old
        self.new = new
        diff = new.diff(old)
        let blockers = vouched ? [] : diff.blockers
        guard blockers.isEmpty else {
            throw ObjectError(
                .cannotMigrate, "the store cannot be migrated automatically",
                hint: "Give defaults, keep the old properties, or add a stage that converts them",
                details: blockers.map {
                    ObjectError(
                        .cannotMigrate, $0.blocker ?? "", entity: $0.entity, property: $0.property)
                })
        }
    }

    private struct Mapping {
        let column: TableLayout.Column
        let former: TableLayout.Column?
    }

    /// The statements, to be run in one transaction with foreign keys off.
    var statements: [String] {
        let schema = SchemaSQL(model: new)
        var statements = dropIndexes()
        var kept: Set<String> = []
        for table in new.tables where table.isManaged {
            if let former = formerTable(of: table) {
                kept.insert(former.name)
                statements += migrate(former, to: table, schema: schema)
            } else {
                statements += [schema.createTable(table), schema.startSequence(table)]
            }
        }
        statements += migrateJoins(schema)
        for table in old.tables where table.isManaged && !kept.contains(table.name) {
            statements.append("DROP TABLE \(SQLText.quoted(table.name))")
        }
        for table in new.tables where table.isManaged { statements += schema.createIndexes(table) }
        return statements
    }

    private func dropIndexes() -> [String] {
        let schema = SchemaSQL(model: old)
        return old.tables.filter(\.isManaged).flatMap(schema.createIndexes).compactMap { sql in
            let name = sql.components(between: "INDEX ", and: " ON ")
            return name.map { "DROP INDEX IF EXISTS \($0)" }
        }
    }

    private func formerTable(of table: TableLayout) -> TableLayout? {
        for layout in new.layouts.values where layout.table === table && layout.root == layout.name
        {
            return diff.entityNames[layout.name].flatMap { old.layouts[$0]?.table }
        }
        return nil
    }

    private func members(_ table: TableLayout) -> [EntityLayout] {
        new.layouts.values.filter { $0.table === table }.sorted { $0.name < $1.name }
    }

    private func mappings(_ table: TableLayout) -> [Mapping] {
        var formers: [String: TableLayout.Column] = [:]
        for layout in members(table) {
            guard let former = diff.entityNames[layout.name].flatMap({ old.layouts[$0] }) else {
                continue
            }
            for slot in layout.slots {
                guard let column = slot.column else { continue }
                let formerSlot =
                    former.slot(slot.name) ?? former.slot(formerName(of: slot, in: layout))
                guard let formerColumn = formerSlot?.column else { continue }
                formers[table.columns[column].name] = former.table.columns[formerColumn]
            }
        }
        return table.columns.map { Mapping(column: $0, former: formers[$0.name]) }
    }

    private func formerName(of slot: EntityLayout.Slot, in layout: EntityLayout) -> String {
        switch slot.kind {
        case .attribute(let attribute): return attribute.renamingIdentifier
        case .reference(let relation):
            return layout.relations[relation].description.renamingIdentifier
        case .position(let relation):
            return layout.relations[relation].description.renamingIdentifier + "#order"
        }
    }

    private func migrate(
        _ former: TableLayout, to table: TableLayout, schema: SchemaSQL
    ) -> [String] {
        let mappings = mappings(table)
        let carried = Set(mappings.compactMap { $0.former?.name })
        let altersInPlace =
            carried.count == former.columns.count
            && former.kindColumn == table.kindColumn
            && mappings.allSatisfy { isAlterable($0, schema: schema) }
            && sameNames(table)
        guard altersInPlace else {
            return rebuild(former, as: table, mappings: mappings, schema: schema)
        }
        var statements: [String] = []
        if former.name != table.name {
            statements.append(
                "ALTER TABLE \(SQLText.quoted(former.name)) RENAME TO \(SQLText.quoted(table.name))"
            )
        }
        let name = SQLText.quoted(table.name)
        for mapping in mappings {
            guard let old = mapping.former else {
                let definition = schema.definition(mapping.column)
                statements.append("ALTER TABLE \(name) ADD COLUMN \(definition)")
                continue
            }
            if old.name != mapping.column.name {
                statements.append(
                    "ALTER TABLE \(name) RENAME COLUMN \(SQLText.quoted(old.name)) TO "
                        + SQLText.quoted(mapping.column.name))
            }
        }
        return statements
    }

    private func isAlterable(_ mapping: Mapping, schema: SchemaSQL) -> Bool {
        let column = mapping.column
        guard let former = mapping.former else {
            return !column.isMandatory || column.defaultValue != .null
        }
        guard former.type == column.type, former.isMandatory == column.isMandatory,
            former.coding == column.coding
        else { return false }
        let oldText = SchemaSQL(model: old).definition(former)
        let newText = schema.definition(column)
        return oldText.dropFirst(SQLText.quoted(former.name).count)
            == newText.dropFirst(SQLText.quoted(column.name).count)
    }

    /// Entities of a hierarchy are named in their rows.
    private func sameNames(_ table: TableLayout) -> Bool {
        guard table.kindColumn != nil else { return true }
        return members(table).allSatisfy { diff.entityNames[$0.name] == $0.name }
    }

    private func rebuild(
        _ former: TableLayout, as table: TableLayout, mappings: [Mapping], schema: SchemaSQL
    ) -> [String] {
        let temporary = "sync_objects_new_" + table.name
        var names = ["id"]
        var values = ["id"]
        if let kind = table.kindColumn {
            names.append(kind)
            values.append(kindExpression(from: former, to: table))
        }
        for mapping in mappings {
            names.append(mapping.column.name)
            values.append(expression(mapping))
        }
        let from = SQLText.quoted(former.name)
        return [
            schema.createTable(table, as: temporary),
            "INSERT INTO \(SQLText.quoted(temporary))(\(SQLText.list(names))) "
                + "SELECT \(values.joined(separator: ", ")) FROM \(from)",
            "CREATE TEMP TABLE sync_objects_seq AS SELECT seq FROM sqlite_sequence"
                + " WHERE name = \(Value.text(former.name))",
            "DROP TABLE \(from)",
            "ALTER TABLE \(SQLText.quoted(temporary)) RENAME TO \(SQLText.quoted(table.name))",
            "DELETE FROM sqlite_sequence WHERE name = \(Value.text(table.name))",
            "INSERT INTO sqlite_sequence(name, seq) SELECT \(Value.text(table.name)), "
                + "coalesce((SELECT seq FROM sync_objects_seq), 0)",
            "DROP TABLE temp.sync_objects_seq",
        ]
    }

    private func kindExpression(from former: TableLayout, to table: TableLayout) -> String {
        let members = members(table)
        guard let kind = former.kindColumn else {
            let root = members.first { $0.root == $0.name }?.name ?? table.name
            return Value.text(root).description
        }
        let cases = members.compactMap { layout in
            diff.entityNames[layout.name].map {
                "WHEN \(Value.text($0)) THEN \(Value.text(layout.name))"
            }
        }
        return "CASE \(SQLText.quoted(kind)) \(cases.joined(separator: " ")) ELSE "
            + "\(SQLText.quoted(kind)) END"
    }

    private func expression(_ mapping: Mapping) -> String {
        let column = mapping.column
        guard let former = mapping.former else { return column.defaultValue.description }
        var text = SQLText.quoted(former.name)
        if former.type != column.type { text = "CAST(\(text) AS \(column.type))" }
        if column.isMandatory, column.defaultValue != .null {
            text = "coalesce(\(text), \(column.defaultValue))"
        }
        return text
    }

    // MARK: Joins

    private func migrateJoins(_ schema: SchemaSQL) -> [String] {
        var statements: [String] = []
        var kept: Set<String> = []
        for join in new.joins where join.isManaged {
            guard let (former, flipped) = formerJoin(of: join) else {
                statements += [schema.createJoin(join), schema.createJoinIndex(join)]
                continue
            }
            kept.insert(former.table)
            let temporary = "sync_objects_old_" + former.table
            let columns = [join.sourceColumn, join.targetColumn]
            let values =
                flipped
                ? [former.targetColumn, former.sourceColumn]
                : [former.sourceColumn, former.targetColumn]
            let orders = orders(of: join, from: former, flipped: flipped)
            statements += [
                "ALTER TABLE \(SQLText.quoted(former.table)) "
                    + "RENAME TO \(SQLText.quoted(temporary))",
                "DROP INDEX IF EXISTS \(SQLText.quoted("\(former.table)_\(former.targetColumn)"))",
                schema.createJoin(join), schema.createJoinIndex(join),
                "INSERT INTO \(SQLText.quoted(join.table))"
                    + "(\(SQLText.list(columns + orders.map(\.0)))) SELECT "
                    + SQLText.list(values + orders.map(\.1))
                    + " FROM \(SQLText.quoted(temporary))",
                "DROP TABLE \(SQLText.quoted(temporary))",
            ]
        }
        for join in old.joins where join.isManaged && !kept.contains(join.table) {
            statements.append("DROP TABLE \(SQLText.quoted(join.table))")
        }
        return statements
    }

    private func orders(
        of join: JoinLayout, from former: JoinLayout, flipped: Bool
    ) -> [(String, String)] {
        let target = flipped ? former.sourceOrderColumn : former.targetOrderColumn
        let source = flipped ? former.targetOrderColumn : former.sourceOrderColumn
        var pairs: [(String, String)] = []
        if let new = join.targetOrderColumn, let target { pairs.append((new, target)) }
        if let new = join.sourceOrderColumn, let source { pairs.append((new, source)) }
        return pairs
    }

    private func formerJoin(of join: JoinLayout) -> (JoinLayout, flipped: Bool)? {
        for layout in new.layouts.values.sorted(by: { $0.name < $1.name }) {
            for relation in layout.relations {
                guard case .join(let own, let isSource) = relation.storage, own === join,
                    let former = diff.entityNames[layout.name].flatMap({ old.layouts[$0] }),
                    let formerRelation = former.relation(relation.name)
                        ?? former.relation(relation.description.renamingIdentifier),
                    case .join(let formerJoin, let wasSource) = formerRelation.storage
                else { continue }
                return (formerJoin, isSource != wasSource)
            }
        }
        return nil
    }
}

extension String {
    /// The text between the first `start` and the `end` after it.
    fileprivate func components(between start: String, and end: String) -> String? {
        guard let first = range(of: start), let last = range(of: end, from: first.upperBound)
        else { return nil }
        return String(self[first.upperBound..<last.lowerBound])
    }

    private func range(of text: String, from start: Index? = nil) -> Range<Index>? {
        var index = start ?? startIndex
        while index < endIndex {
            if self[index...].hasPrefix(text) {
                return index..<self.index(index, offsetBy: text.count)
            }
            index = self.index(after: index)
        }
        return nil
    }
}
