import SyncTesting

@testable import SyncCore
@testable import SyncStorage

/// Transactions in every shape that SQLite's grammar has for them, on a ``RandomSchema``: what that
/// offers, views with INSTEAD OF triggers, and statements over two tables.
struct RandomSQL {
    private(set) var schema: RandomSchema
    /// To run before tracking, after the tables.
    let views: [String]
    private let viewed: [RandomSchema.Table]

    init(_ schema: RandomSchema, _ random: inout SeededRandom) {
        self.schema = schema
        var viewed: [RandomSchema.Table] = []
        for table in schema.tables where random.once(in: 2) { viewed.append(table) }
        self.viewed = viewed
        views = viewed.flatMap(Self.view)
    }

    private static func view(_ table: RandomSchema.Table) -> [String] {
        let (name, view) = (SQLName.quoted(table.name), viewName(table))
        let columns = RandomSchema.list(table.columns)
        let new = table.columns.map { "NEW." + SQLName.quoted($0) }.joined(separator: ", ")
        let isOld = table.key.map { "\(SQLName.quoted($0)) IS OLD.\(SQLName.quoted($0))" }
            .joined(separator: " AND ")
        let value = SQLName.quoted(table.columns[table.key.count])
        return [
            "CREATE VIEW \(view) AS SELECT \(columns) FROM \(name)",
            """
            CREATE TRIGGER \(SQLName.quoted(table.name + " vi")) INSTEAD OF INSERT ON \(view) BEGIN
              INSERT OR REPLACE INTO \(name)(\(columns)) VALUES(\(new)); END
            """,
            """
            CREATE TRIGGER \(SQLName.quoted(table.name + " vu")) INSTEAD OF UPDATE ON \(view) BEGIN
              UPDATE OR REPLACE \(name) SET \(value) = NEW.\(value) WHERE \(isOld); END
            """,
            """
            CREATE TRIGGER \(SQLName.quoted(table.name + " vd")) INSTEAD OF DELETE ON \(view) BEGIN
              DELETE FROM \(name) WHERE \(isOld); END
            """,
        ]
    }

    private static func viewName(_ table: RandomSchema.Table) -> String {
        SQLName.quoted("view of " + table.name)
    }

    /// One transaction. Signed ones begin with the marker of `author`.
    func transaction(author: String?, _ random: inout SeededRandom) -> [String] {
        if author == nil, random.once(in: 2) { return [statement(&random)] }
        var sql = [random.pick(["BEGIN", "BEGIN IMMEDIATE", "SAVEPOINT outer"])]
        let isSavepoint = sql[0] == "SAVEPOINT outer"
        if let author { sql.append("INSERT INTO syncd_txn(author) VALUES ('\(author)')") }
        if random.once(in: 4) { sql.append("PRAGMA defer_foreign_keys = ON") }
        for _ in 0..<(1 + random.below(5)) {
            if random.once(in: 5) {
                sql.append("SAVEPOINT s")
                for _ in 0..<2 { sql.append(statement(&random)) }
                sql += random.pick([
                    ["RELEASE s"], ["ROLLBACK TO s"], ["ROLLBACK TO s", "RELEASE s"],
                ])
            }
            switch random.below(8) {
            case 0, 1: sql += family(&random)
            case 2: sql += keyChanges(&random)
            default: sql.append(statement(&random))
            }
        }
        if author != nil, random.once(in: 2) {
            sql.append("INSERT INTO syncd_txn(author) VALUES (NULL)")
        }
        if random.once(in: 8) { return sql + ["ROLLBACK"] }
        return sql + [isSavepoint ? "RELEASE outer" : "COMMIT"]
    }

    private func statement(_ random: inout SeededRandom) -> String {
        if random.once(in: 200) { return large(&random) }
        switch random.below(14) {
        case 0: return "DELETE FROM \(SQLName.quoted(random.pick(schema.tables).name))"
        case 1: return throughView(&random)
        case 2: return copy(&random)
        case 3: return updateFrom(&random)
        case 4: return upsert(&random)
        default: return schema.statement(&random)
        }
    }

    /// Children deleted by name, or changed, or put back, and then their parent goes.
    private func family(_ random: inout SeededRandom) -> [String] {
        guard !schema.references.isEmpty else { return [statement(&random)] }
        let reference = random.pick(schema.references)
        let (child, parent) = (schema.tables[reference.child], schema.tables[reference.parent])
        let (name, key) = (SQLName.quoted(child.name), SQLName.quoted(child.key[0]))
        let column = SQLName.quoted(reference.columns[0])
        let value = RandomSchema.value(&random)
        let other = RandomSchema.value(&random)
        let parents = SQLName.quoted(parent.name)
        let parentKey = SQLName.quoted(reference.parentColumns[0])
        var sql: [String] = []
        if random.once(in: 2) {
            sql.append("INSERT OR IGNORE INTO \(parents)(\(parentKey)) VALUES (\(value))")
            sql.append("UPDATE OR IGNORE \(name) SET \(column) = \(value)")
        }
        for _ in 0..<(1 + random.below(3)) {
            sql.append(
                random.pick([
                    "DELETE FROM \(name) WHERE \(key) = \(other)",
                    "DELETE FROM \(name) WHERE \(column) = \(value)",
                    "INSERT INTO \(name)(\(key), \(column)) VALUES (\(other), \(value))",
                    "UPDATE OR REPLACE \(name) SET \(column) = \(value) WHERE \(key) = \(other)",
                    "UPDATE OR REPLACE \(name) SET \(key) = \(other) WHERE \(column) = \(value)",
                    "SELECT 1",
                ]))
        }
        sql.append(
            random.pick([
                "DELETE FROM \(parents) WHERE \(parentKey) = \(value)",
                "DELETE FROM \(parents) WHERE \(parentKey) = \(value)",
                "REPLACE INTO \(parents)(\(parentKey)) VALUES (\(value))",
                "UPDATE OR REPLACE \(parents) SET \(parentKey) = \(value)",
                "DELETE FROM \(parents)",
            ]))
        return sql
    }

    /// Keys that move on, in a chain or a circle, through keys that nothing else has.
    private func keyChanges(_ random: inout SeededRandom) -> [String] {
        let table = random.pick(schema.tables)
        let key = SQLName.quoted(table.key[0])
        var keys = (0..<2).map { _ in RandomSchema.value(&random) }
        keys.append(random.pick(["77", "'zz'", "-5"]))
        let conflict = random.pick(["", "", " OR REPLACE"])
        var sql: [String] = []
        let circle = random.once(in: 2)
        // keys[2] is free: 0 goes there, 1 to 0, and what was 0 to 1.
        let steps = circle ? [(0, 2), (1, 0), (2, 1)] : [(0, 2), (2, 1), (1, 0)]
        for (from, to) in steps.prefix(2 + random.below(2)) {
            sql.append(
                "UPDATE\(conflict) \(SQLName.quoted(table.name)) SET \(key) = \(keys[to]) "
                    + "WHERE \(key) = \(keys[from])")
        }
        if random.once(in: 4) {
            sql.append("DELETE FROM \(SQLName.quoted(table.name)) WHERE \(key) = \(keys[1])")
        }
        return sql
    }

    /// A value of a megabyte, in few transactions.
    func large(_ random: inout SeededRandom) -> String {
        let table = random.pick(schema.tables)
        return "UPDATE OR IGNORE \(SQLName.quoted(table.name)) SET "
            + "\(SQLName.quoted(random.pick(table.columns))) = zeroblob(1200000) WHERE "
            + "\(SQLName.quoted(table.key[0])) = \(RandomSchema.value(&random))"
    }

    /// What another program does to the schema and leaves every table and its triggers as right as
    /// they were: a unique index would lead to a comparison of rows.
    func schemaChange(_ number: Int, _ random: inout SeededRandom) -> String {
        let table = random.pick(schema.tables)
        let name = SQLName.quoted(table.name)
        guard table.key.count == 1, random.once(in: 2) else {
            return "CREATE INDEX \"index \(number)\" ON "
                + "\(name)(\(SQLName.quoted(random.pick(table.columns))))"
        }
        return "CREATE TABLE \"extra \(number)\"(id INTEGER PRIMARY KEY, "
            + "p REFERENCES \(name) ON DELETE CASCADE)"
    }

    /// A transaction that adds a column in its middle, and uses it at once.
    ///
    /// - Returns: the statements, the table and the new column's value in rows that were there.
    mutating func columnAddition(
        _ number: Int, _ random: inout SeededRandom
    ) -> (statements: [String], table: RandomSchema.Table, value: String) {
        let index = random.below(schema.tables.count)
        let table = schema.tables[index]
        let (name, column) = (SQLName.quoted(table.name), "added \(number)")
        let value = random.pick(["NULL", "7"])
        var sql = ["BEGIN IMMEDIATE"]
        for _ in 0..<random.below(3) { sql.append(statement(&random)) }
        // STRICT tables take a type; ANY elsewhere is one of affinity NUMERIC.
        sql.append(
            "ALTER TABLE \(name) ADD COLUMN \(SQLName.quoted(column)) INTEGER"
                + (value == "NULL" ? "" : " DEFAULT \(value)"))
        if random.once(in: 2) {
            sql.append(
                "UPDATE OR IGNORE \(name) SET \(SQLName.quoted(column)) = \(number) "
                    + "WHERE \(SQLName.quoted(table.key[0])) >= \(RandomSchema.value(&random))")
        }
        schema.addColumn(column, to: index)
        return (sql + ["COMMIT"], schema.tables[index], value)
    }

    private func throughView(_ random: inout SeededRandom) -> String {
        guard !viewed.isEmpty else { return schema.statement(&random) }
        let table = random.pick(viewed)
        let view = Self.viewName(table)
        let key = SQLName.quoted(table.key[0])
        let value = SQLName.quoted(table.columns[table.key.count])
        switch random.below(3) {
        case 0:
            let values = table.columns.map { _ in RandomSchema.value(&random) }
            return "INSERT INTO \(view) VALUES (\(values.joined(separator: ", ")))"
        case 1:
            return "UPDATE \(view) SET \(value) = \(RandomSchema.value(&random)) "
                + "WHERE \(key) >= \(RandomSchema.value(&random))"
        default: return "DELETE FROM \(view) WHERE \(key) = \(RandomSchema.value(&random))"
        }
    }

    /// INSERT … SELECT, from another table or from itself, maybe with RETURNING.
    private func copy(_ random: inout SeededRandom) -> String {
        let (target, source) = (random.pick(schema.tables), random.pick(schema.tables))
        let columns = target.columns.indices.map { index in
            index < source.columns.count
                ? SQLName.quoted(source.columns[index]) : RandomSchema.value(&random)
        }
        let conflict = random.pick([" OR REPLACE", " OR REPLACE", " OR IGNORE", ""])
        return "INSERT\(conflict) INTO \(SQLName.quoted(target.name))"
            + "(\(RandomSchema.list(target.columns))) SELECT \(columns.joined(separator: ", "))"
            + " FROM \(SQLName.quoted(source.name)) WHERE true"
            + random.pick(["", " RETURNING *"])
    }

    private func updateFrom(_ random: inout SeededRandom) -> String {
        let (target, source) = (random.pick(schema.tables), random.pick(schema.tables))
        let column = SQLName.quoted(random.pick(target.columns))
        let other = SQLName.quoted(random.pick(source.columns))
        let (key, otherKey) = (SQLName.quoted(target.key[0]), SQLName.quoted(source.key[0]))
        let conflict = random.pick(["", " OR REPLACE", " OR IGNORE"])
        return "UPDATE\(conflict) \(SQLName.quoted(target.name)) AS a SET \(column) = b.\(other) "
            + "FROM \(SQLName.quoted(source.name)) AS b WHERE a.\(key) >= b.\(otherKey)"
    }

    /// An UPSERT that names its key, or every index one after the other.
    private func upsert(_ random: inout SeededRandom) -> String {
        let table = random.pick(schema.tables)
        let rows = (0..<2).map { _ in
            let values = table.columns.map { _ in RandomSchema.value(&random) }
            return "(" + values.joined(separator: ", ") + ")"
        }
        let column = SQLName.quoted(random.pick(table.columns))
        let last = random.pick([
            "DO NOTHING", "DO UPDATE SET \(column) = excluded.\(column)",
            "DO UPDATE SET \(column) = excluded.\(column) WHERE excluded.\(column) > 1",
        ])
        return "INSERT INTO \(SQLName.quoted(table.name))(\(RandomSchema.list(table.columns))) "
            + "VALUES \(rows.joined(separator: ", ")) ON CONFLICT(\(RandomSchema.list(table.key))) "
            + "DO UPDATE SET \(column) = excluded.\(column) ON CONFLICT \(last)"
    }
}
