import SyncTesting

@testable import SyncCore
@testable import SyncStorage

/// A schema and statements on it, drawn from a seed: all kinds of keys and constraints that capture
/// has to cope with, and values from a small range so that they clash often.
struct RandomSchema {
    struct Table {
        var name: String
        var sql: [String]
        /// Columns that may be written.
        var columns: [String]
        var key: [String]
        /// Columns that are unique, each by itself.
        var unique: [String] = []
        /// How SQLite converts values for an index of the column.
        var affinities: [String: Affinity] = [:]
        var undo = false
    }

    enum Affinity { case none, text, numeric, real }

    /// The first values of a child refer to the key of a parent, or to a column of it that is
    /// unique; the parent may be the child itself.
    struct Reference: Hashable {
        var child: Int
        var parent: Int
        var columns: [String]
        var parentColumns: [String]
        var isCascade: Bool
    }

    private(set) var tables: [Table] = []
    private(set) var references: [Reference] = []
    private(set) var triggers: [String] = []

    init(_ random: inout SeededRandom) {
        for number in 0..<(2 + random.below(2)) { tables.append(Self.table(number, &random)) }
        for child in [1, 0, 2] where child < tables.count && random.once(in: 2) {
            addReference(from: child, &random)
        }
        if random.once(in: 3) { addTriggers(&random) }
    }

    // MARK: Tables

    private static func table(_ number: Int, _ random: inout SeededRandom) -> Table {
        let name = random.pick([
            "t\(number)", "order \(number)", "Täble\"\(number)", "k\(number)", "\u{e9}\(number)",
            "e\u{301}\(number)",
        ])
        let strict = random.once(in: 5)
        let withoutRowID = random.once(in: 4)
        var columns: [String] = []
        var parts: [String] = []
        var affinities: [String: Affinity] = [:]
        let keyCount = random.pick([1, 1, 1, 1, 2, 3, 8])
        let integerKey = keyCount == 1 && random.once(in: 2)
        for index in 0..<keyCount {
            let column = random.pick(["id", "k 1", "select", "e", "i", "m"]) + "\(index)"
            let type = integerKey ? "INTEGER" : keyType(strict, &random)
            columns.append(column)
            affinities[column] = affinity(type)
            let inline =
                integerKey ? " PRIMARY KEY" : " NOT NULL" + defaultValue(strict, &random)
            parts.append("\(SQLName.quoted(column)) \(type)\(inline)")
        }
        let key = columns
        let count = random.pick([1, 2, 3, 4, 6, 7, 8, 13, 14, 66])
        for index in 0..<count {
            let column = random.pick(["c", "pk", "v", "Col ", "\u{e9}", "e\u{301}"]) + "\(index)"
            let type = valueType(strict, &random)
            columns.append(column)
            affinities[column] = affinity(type)
            let value = random.once(in: 4) ? defaultValue(strict, &random) : ""
            let inline = value.isEmpty ? "" : " NOT NULL" + value
            parts.append("\(SQLName.quoted(column)) \(type)\(inline)")
        }
        let values = Array(columns[keyCount...])
        if random.once(in: 3) {
            let kind = random.pick(["STORED", "VIRTUAL"])
            let first = SQLName.quoted(values[0])
            let type = strict ? "TEXT" : ""
            parts.append("gen \(type) GENERATED ALWAYS AS (coalesce(\(first), '') || 'g') \(kind)")
        }
        // A clause in the schema replaces rows without any word of it in the statement.
        let clause = random.pick(["", "", " ON CONFLICT REPLACE", " ON CONFLICT IGNORE"])
        if !integerKey { parts.append("PRIMARY KEY(\(list(key)))" + clause) }
        var unique: [String] = []
        if random.once(in: 3) {
            unique.append(random.pick(values))
            parts.append("UNIQUE(\(SQLName.quoted(unique[0])))" + clause)
        }
        var options: [String] = []
        if withoutRowID { options.append("WITHOUT ROWID") }
        if strict { options.append("STRICT") }
        var sql = [
            "CREATE TABLE \(SQLName.quoted(name))(\(parts.joined(separator: ", ")))"
                + (options.isEmpty ? "" : " " + options.joined(separator: ", "))
        ]
        sql += indexes(on: name, number, values, &random)
        return Table(
            name: name, sql: sql, columns: columns, key: key, unique: unique,
            affinities: affinities,
            undo: random.once(in: 3))
    }

    private static func affinity(_ type: String) -> Affinity {
        switch type {
        case "", "BLOB", "ANY": .none
        case "REAL": .real
        case "INTEGER", "INT", "NUMERIC": .numeric
        default: .text
        }
    }

    /// REPLACE puts it in the place of a NULL.
    private static func defaultValue(_ strict: Bool, _ random: inout SeededRandom) -> String {
        guard !strict else { return "" }
        return random.pick([
            "", " DEFAULT 1", " DEFAULT 'a'", " DEFAULT \"A\"", " DEFAULT b", " DEFAULT true",
            " DEFAULT (1 + 1)", " DEFAULT -1", " DEFAULT x'61'", " DEFAULT CURRENT_DATE",
        ])
    }

    private static func keyType(_ strict: Bool, _ random: inout SeededRandom) -> String {
        if strict { return random.pick(["INTEGER", "TEXT", "ANY", "TEXT COLLATE NOCASE"]) }
        return random.pick(["TEXT", "TEXT COLLATE NOCASE", "", "BLOB", "INT", "NUMERIC", "REAL"])
    }

    private static func valueType(_ strict: Bool, _ random: inout SeededRandom) -> String {
        if strict { return random.pick(["INTEGER", "TEXT", "ANY", "REAL", "TEXT COLLATE NOCASE"]) }
        return random.pick([
            "", "TEXT", "TEXT COLLATE NOCASE", "TEXT COLLATE RTRIM", "INTEGER", "REAL", "NUMERIC",
            "BLOB", "VARCHAR(10)",
        ])
    }

    private static func indexes(
        on table: String, _ number: Int, _ values: [String], _ random: inout SeededRandom
    ) -> [String] {
        let target = SQLName.quoted(table)
        let a = SQLName.quoted(random.pick(values))
        let b = SQLName.quoted(random.pick(values))
        var sql: [String] = []
        if random.once(in: 4), a != b {
            sql.append("CREATE UNIQUE INDEX u\(number)a ON \(target)(\(a), \(b) DESC)")
        }
        if random.once(in: 4) {
            sql.append("CREATE UNIQUE INDEX u\(number)b ON \(target)(\(a)) WHERE \(b) IS NOT NULL")
        }
        if random.once(in: 4) {
            sql.append("CREATE UNIQUE INDEX u\(number)c ON \(target)(lower(\(a)), \(b))")
        }
        if random.once(in: 5) {
            sql.append("CREATE UNIQUE INDEX u\(number)d ON \(target)(\(b) COLLATE NOCASE)")
        }
        return sql
    }

    /// A table's first values refer to the key of one of the tables, or to what is unique there.
    private mutating func addReference(from child: Int, _ random: inout SeededRandom) {
        let actions = [
            "CASCADE", "CASCADE", "CASCADE", "SET NULL", "SET DEFAULT", "NO ACTION", "RESTRICT",
        ]
        let parent = random.below(tables.count)
        let unique = tables[parent].unique
        let parentColumns =
            !unique.isEmpty && random.once(in: 2) ? [unique[0]] : tables[parent].key
        let values = tables[child].columns.dropFirst(tables[child].key.count)
        guard values.count >= parentColumns.count else { return }
        let columns = Array(values.prefix(parentColumns.count))
        // SQLite converts OLD of the parent for its AFTER triggers when it looks for children in an
        // index of a column with another affinity: docs/capture.md, Limits.
        let isConverted = zip(parentColumns, columns).contains {
            let child = tables[child].affinities[$1] ?? .none
            return switch tables[parent].affinities[$0] ?? .none {
            case .none: child != .none
            case .text: child == .numeric || child == .real
            case .numeric: child == .real
            case .real: false
            }
        }
        guard !isConverted else { return }
        let action = random.pick(actions)
        let clause =
            ", FOREIGN KEY(\(Self.list(columns))) REFERENCES "
            + SQLName.quoted(tables[parent].name) + "(\(Self.list(parentColumns)))"
            + " ON DELETE \(action) ON UPDATE \(random.pick(actions))"
            + random.pick(["", "", " DEFERRABLE INITIALLY DEFERRED"])
        let sql = tables[child].sql[0]
        // Constraints of the table follow its columns.
        let end = sql.lastIndex(of: ")") ?? sql.endIndex
        tables[child].sql[0] = sql[..<end] + clause + sql[end...]
        references.append(
            Reference(
                child: child, parent: parent, columns: columns, parentColumns: parentColumns,
                isCascade: action == "CASCADE"))
    }

    /// What `ALTER TABLE … ADD COLUMN` does to a table.
    mutating func addColumn(_ name: String, to table: Int) { tables[table].columns.append(name) }

    /// Triggers of the user that write to tracked tables themselves.
    private mutating func addTriggers(_ random: inout SeededRandom) {
        let (a, b) = (tables[0], tables[1])
        let (nameA, nameB) = (SQLName.quoted(a.name), SQLName.quoted(b.name))
        let value = SQLName.quoted(a.columns[a.key.count])
        let key = a.key.map { "\(SQLName.quoted($0)) IS NEW.\(SQLName.quoted($0))" }
            .joined(separator: " AND ")
        let insertB = "INTO \(nameB)(\(Self.list(b.columns)))"
        let copy = b.columns.indices.map { random.once(in: 2) ? "NEW.\(value)" : "\($0 % 3)" }
            .joined(separator: ", ")
        let all = [
            """
            CREATE TRIGGER stamp AFTER INSERT ON \(nameA) BEGIN
              UPDATE \(nameA) SET \(value) = 'stamped' WHERE \(key); END
            """,
            """
            CREATE TRIGGER before_it BEFORE INSERT ON \(nameA) BEGIN
              INSERT OR REPLACE \(insertB) VALUES(\(copy)); END
            """,
            """
            CREATE TRIGGER after_it AFTER UPDATE ON \(nameA) BEGIN
              INSERT OR IGNORE \(insertB) VALUES(\(copy)); END
            """,
            "CREATE TRIGGER clean AFTER DELETE ON \(nameA) BEGIN DELETE FROM \(nameB) "
                + "WHERE \(SQLName.quoted(b.key[0])) = OLD.\(value); END",
        ]
        triggers = all.filter { _ in random.once(in: 2) }
    }

    // MARK: Statements

    static func list(_ names: [String]) -> String {
        names.map(SQLName.quoted).joined(separator: ", ")
    }

    static func value(_ random: inout SeededRandom) -> String {
        random.pick([
            "NULL", "0", "1", "2", "3", "4", "-1", "1.0", "2.0", "2.5", "'1'", "'a'", "'A'", "'b'",
            "'a '", "x'61'", "''", "x''", "9007199254740993", "9007199254740992.0", "1e300",
            "-9223372036854775808", "-9223372036854775808.0", "9223372036854775807", "9e999",
        ])
    }

    func statement(_ random: inout SeededRandom) -> String {
        let table = random.pick(tables)
        let name = SQLName.quoted(table.name)
        let conflict = random.pick([
            "", "", " OR REPLACE", " OR REPLACE", " OR IGNORE", " OR ABORT", " OR FAIL",
        ])
        switch random.below(10) {
        case 0...4: return insert(table, name, conflict, &random)
        case 5, 6:
            let column = SQLName.quoted(random.pick(table.columns))
            let other = SQLName.quoted(random.pick(table.columns))
            let value = random.once(in: 4) ? "\(other)" : Self.value(&random)
            let more =
                random.once(in: 3) && other != column ? ", \(other) = \(Self.value(&random))" : ""
            return
                "UPDATE\(conflict) \(name) SET \(column) = \(value)\(more)\(filter(table, &random))"
        case 7:
            let key = SQLName.quoted(random.pick(table.key))
            let change = random.pick([
                "\(key) + 1", "-\(key)", "upper(\(key))", Self.value(&random),
            ])
            return "UPDATE\(conflict) \(name) SET \(key) = \(change)\(filter(table, &random))"
        case 8:
            return
                "UPDATE\(conflict) \(name) SET rowid = \(random.below(5))\(filter(table, &random))"
        default: return "DELETE FROM \(name)\(filter(table, &random))"
        }
    }

    private func insert(
        _ table: Table, _ name: String, _ conflict: String, _ random: inout SeededRandom
    ) -> String {
        var columns = table.columns
        if random.once(in: 8) { columns.append("rowid") }
        // An integer key that SQLite chooses.
        if random.once(in: 4) { columns.removeFirst() }
        let rows = (0..<(1 + random.below(3))).map { _ in
            "(" + columns.map { _ in Self.value(&random) }.joined(separator: ", ") + ")"
        }.joined(separator: ", ")
        var sql = "INSERT\(conflict) INTO \(name)(\(Self.list(columns))) VALUES \(rows)"
        if conflict.isEmpty, random.once(in: 2) {
            let column = SQLName.quoted(random.pick(table.columns))
            sql += random.pick([
                " ON CONFLICT DO NOTHING",
                " ON CONFLICT DO UPDATE SET \(column) = excluded.\(column)",
                " ON CONFLICT DO UPDATE SET \(column) = \(Self.value(&random))",
            ])
        }
        return sql
    }

    private func filter(_ table: Table, _ random: inout SeededRandom) -> String {
        let column = SQLName.quoted(random.pick(table.columns))
        switch random.below(6) {
        case 0: return ""
        case 1: return " WHERE \(column) IS NOT NULL"
        case 2: return " WHERE \(column) > \(Self.value(&random))"
        default:
            let key = SQLName.quoted(random.pick(table.key))
            return " WHERE \(key) = \(Self.value(&random))"
        }
    }
}
