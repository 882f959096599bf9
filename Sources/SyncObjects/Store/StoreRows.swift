import GRDB
import SyncCore

/// Reads rows as objects. Stateless: all it needs is in the layouts.
struct StoreRows {
    let model: ManagedObjectModel
    let identities: Identities
    let derived: DerivedAttributes
    /// The model has derived attributes.
    let hasDerived: Bool

    init(model: ManagedObjectModel, identities: Identities) {
        self.model = model
        self.identities = identities
        derived = DerivedAttributes(model: model)
        hasDerived = !derived.isEmpty
    }

    /// The most keys of one statement, below SQLite's limit of parameters in every version.
    private static let keysMax = 500

    func fetch(_ query: ObjectQuery, in db: Database) throws -> [StoredRow] {
        if let keys = query.keys, keys.count > Self.keysMax {
            var rows: [StoredRow] = []
            for start in stride(from: 0, to: keys.count, by: Self.keysMax) {
                var part = query
                part.keys = Array(keys[start..<min(start + Self.keysMax, keys.count)])
                rows += try fetch(part, in: db)
            }
            return rows
        }
        // Before anything is read: see `Identities.Incarnations`.
        let decoder = RowDecoder(entity: query.entity, model: model, identities: identities)
        let statement: RawStatement
        if let keys = query.keys, let known = try select(keys: keys, of: query, in: db) {
            statement = known
        } else {
            let (sql, arguments) = try select(query, columns: query.entity.table.selectedColumns)
            statement = try RawStatement(db, sql: sql)
            statement.bind(arguments)
        }
        var rows: [StoredRow] = []
        if let keys = query.keys { rows.reserveCapacity(keys.count) }
        while try statement.step() {
            if let row = decoder.row(statement) { rows.append(row) }
        }
        return rows
    }

    /// The statement that reads rows by their keys alone: of few lengths, so that it is prepared
    /// once. Nil for other queries.
    private func select(
        keys: [ManagedObjectKey], of query: ObjectQuery, in db: Database
    ) throws -> RawStatement? {
        let table = query.entity.table
        guard let last = keys.last, query.predicate == nil,
            query.sort.isEmpty, query.limit == nil, query.offset == 0,
            table.kindColumn == nil
                || query.entity.name == query.entity.root && query.includesSubentities
        else { return nil }
        guard let selection = table.keySelections.first(where: { $0.keys >= keys.count }) else {
            return nil
        }
        let statement = try RawStatement(db, sql: selection.sql)
        // Keys that are named twice are found once.
        for index in 0..<selection.keys {
            statement.bind(
                Int32(index + 1), to: (index < keys.count ? keys[index] : last).values[0])
        }
        return statement
    }

    func fetchIDs(_ query: ObjectQuery, in db: Database) throws -> [ManagedObjectID] {
        let table = query.entity.table
        let incarnations = identities.incarnations(query.entity.root)
        let (sql, arguments) = try select(query, columns: table.key.map(\.column))
        let statement = try RawStatement(db, sql: sql)
        statement.bind(arguments)
        var ids: [ManagedObjectID] = []
        while try statement.step() {
            let key = ManagedObjectKey((0..<table.key.count).map(statement.value))
            ids.append(incarnations.id(key))
        }
        return ids
    }

    func count(_ query: ObjectQuery, in db: Database) throws -> Int {
        if query.limit != nil || query.offset > 0 { return try fetchIDs(query, in: db).count }
        var plain = query
        plain.sort = []
        let (sql, arguments) = try select(plain, expression: "count(*)")
        let statement = try RawStatement(db, sql: sql)
        statement.bind(arguments)
        guard try statement.step(), case .integer(let count) = statement.value(0) else { return 0 }
        _ = try statement.step()
        return Int(count)
    }

    private func select(
        _ query: ObjectQuery, columns: [String]
    ) throws -> (String, [Value]) {
        try select(
            query, expression: columns.map { "t0." + SQLText.quoted($0) }.joined(separator: ", "))
    }

    func select(
        _ query: ObjectQuery, expression: String, suffix: String = ""
    ) throws -> (String, [Value]) {
        var sql = PredicateSQL()
        let table = query.entity.table
        var conditions: [String] = []
        if let kind = table.kindColumn {
            let names = query.includesSubentities ? query.entity.family : [query.entity.name]
            if query.entity.name != query.entity.root || !query.includesSubentities {
                let marks = names.sorted().map { sql.bind(.text($0)) }.joined(separator: ", ")
                conditions.append("t0.\(SQLText.quoted(kind)) IN (\(marks))")
            }
        }
        if let keys = query.keys {
            conditions.append(Self.condition(of: table, keys: keys, in: &sql))
        }
        if let predicate = query.predicate {
            conditions.append(try sql.condition(predicate, on: "t0"))
        }
        var text = "SELECT \(expression) FROM \(SQLText.quoted(table.name)) t0"
        if !conditions.isEmpty { text += " WHERE " + conditions.joined(separator: " AND ") }
        text += suffix
        if suffix.isEmpty, expression != "count(*)" {
            // The key comes last, so that ties have a fixed order and pages never overlap.
            let order =
                try sql.order(by: query.sort, on: "t0")
                + table.key.map { "t0." + SQLText.quoted($0.column) }
            text += " ORDER BY " + order.joined(separator: ", ")
        }
        if query.limit != nil || query.offset > 0 {
            text += " LIMIT \(query.limit ?? -1) OFFSET \(query.offset)"
        }
        return (text, sql.arguments)
    }

    private static func condition(
        of table: TableLayout, keys: [ManagedObjectKey], in sql: inout PredicateSQL
    ) -> String {
        if table.key.count == 1 {
            let marks = keys.map { sql.bind($0.values[0]) }.joined(separator: ", ")
            return "t0.\(SQLText.quoted(table.key[0].column)) IN (\(marks))"
        }
        let rows = keys.map { key in
            "(" + key.values.map { sql.bind($0) }.joined(separator: ", ") + ")"
        }
        let columns = table.key.map { "t0." + SQLText.quoted($0.column) }.joined(separator: ", ")
        return "(\(columns)) IN (VALUES \(rows.joined(separator: ", ")))"
    }

    /// The members of a many-to-many relationship, with their places in its order.
    func joinMembers(
        _ join: JoinLayout, isSource: Bool, of key: Value, in db: Database
    ) throws -> [(key: Value, order: Value)] {
        let own = SQLText.quoted(isSource ? join.sourceColumn : join.targetColumn)
        let other = SQLText.quoted(isSource ? join.targetColumn : join.sourceColumn)
        let order = join.orderColumn(isSource: isSource).map(SQLText.quoted) ?? "NULL"
        let statement = try RawStatement(
            db,
            sql: "SELECT \(other), \(order) FROM \(SQLText.quoted(join.table)) WHERE \(own) = ?"
                + " ORDER BY 2, 1")
        statement.bind([key])
        var members: [(Value, Value)] = []
        while try statement.step() { members.append((statement.value(0), statement.value(1))) }
        return members
    }
}
