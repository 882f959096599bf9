import CSQLite
import GRDB
import SyncValues

/// Reads the schema of a database's `main` file.
///
/// Bound to one connection and used inside one read or write of it; what it returns is a value and
/// may go anywhere.
package struct SchemaReader {
    package let db: Database

    /// Reads from `db`.
    package init(_ db: Database) { self.db = db }

    /// The number that SQLite raises with each change of the schema (and with VACUUM).
    /// - Throws: the error of SQLite.
    package func schemaVersion() throws -> Int64 {
        try Int64.fetchOne(db, sql: "PRAGMA main.schema_version") ?? 0
    }

    /// Everything that has a table's name, in order of name; SQLite's own tables too.
    /// - Complexity: O(columns and indexes of the whole schema).
    /// - Throws: the error of SQLite; `cannotTrack` when two objects, or two columns of a table,
    ///   have names that this program cannot tell apart (``AmbiguousNames``).
    package func tables() throws -> [TableSchema] {
        try refuseAmbiguousNames()
        let texts = try allTexts()
        return try Row.fetchAll(
            db, sql: "SELECT * FROM pragma_table_list WHERE schema = 'main' ORDER BY name"
        ).map { try table($0) { name, type in texts[Text(of: name, type)] ?? "" } }
    }

    /// The objects of one kind share a space of names, as tables, views and indexes do.
    private func refuseAmbiguousNames() throws {
        let foreign = "name GLOB '*[^' || char(1) || '-' || char(127) || ']*'"
        guard
            try Bool.fetchOne(
                db, sql: "SELECT EXISTS (SELECT 1 FROM main.sqlite_schema WHERE \(foreign))")
                ?? false
        else { return }
        for (types, owner) in [
            ("'table', 'view'", "two tables have"),
            ("'table', 'view', 'index'", "two objects have"),
            ("'trigger'", "two triggers have"),
        ] {
            let names = try String.fetchAll(
                db,
                sql: """
                    SELECT name FROM main.sqlite_schema WHERE type IN (\(types)) ORDER BY rowid
                    """)
            try AmbiguousNames.refuse(names, in: owner)
        }
    }

    /// The table of that name, as SQLite compares names; nil when there is none.
    /// - Throws: the error of SQLite; `cannotTrack` when two of its columns have names that this
    ///   program cannot tell apart.
    package func table(_ name: String) throws -> TableSchema? {
        try Row.fetchOne(
            db, sql: "SELECT * FROM pragma_table_list(?) WHERE schema = 'main'",
            arguments: [name]
        ).map { try table($0, text: sql) }
    }

    /// The names, in lower case, of the tables that begin with `syncd_`.
    /// - Throws: the error of SQLite.
    package func ownTables() throws -> Set<String> {
        Set(
            try String.fetchAll(
                db,
                sql: """
                    SELECT lower(name) FROM main.sqlite_schema
                    WHERE type = 'table' AND name LIKE 'syncd\\_%' ESCAPE '\\'
                    """))
    }

    /// The folded names of all columns of a table; none when there is no such table.
    package static func columnNames(
        of table: String, on connection: OpaquePointer
    ) throws -> Set<String> {
        let columns = try Statement(
            "SELECT name FROM pragma_table_xinfo(?, 'main')", on: connection)
        columns.bind(table, at: 1)
        var names: Set<String> = []
        while try columns.step() { names.insert(SQLName.folded(columns.text(0) ?? "")) }
        return names
    }

    /// Whether the database has a table of exactly this name.
    /// - Throws: the error of SQLite.
    package static func hasTable(_ name: String, on connection: OpaquePointer) throws -> Bool {
        let select = try Statement(
            "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1", on: connection)
        select.bind(name, at: 1)
        return try select.step()
    }

    /// An object of the schema: tables and views share one space of names.
    private struct Text: Hashable {
        let name: String
        let isIndex: Bool

        init(of name: String, _ type: String) {
            (self.name, isIndex) = (SQLName.folded(name), type == "index")
        }
    }

    /// The statements of all tables, views and indexes in one pass: SQLite has no index to find
    /// one by its name.
    private func allTexts() throws -> [Text: String] {
        var texts: [Text: String] = [:]
        for row in try Row.fetchAll(
            db,
            sql: """
                SELECT type, name, sql FROM main.sqlite_schema
                WHERE type IN ('table', 'view', 'index') AND sql IS NOT NULL
                """)
        {
            texts[Text(of: row["name"], row["type"])] = row["sql"]
        }
        return texts
    }

    /// - Parameter text: the statement of an object by its name and type.
    private func table(
        _ row: Row, text: (_ name: String, _ type: String) throws -> String
    ) throws -> TableSchema {
        let name: String = row["name"]
        let strict: Bool = row["strict"]
        var table = TableSchema(
            name: name, kind: kind(ofType: row["type"], named: name), columns: [], key: [],
            isIntegerKey: false,
            isWithoutRowID: row["wr"], isStrict: strict, uniqueIndexes: [], foreignKeys: [],
            checks: [], sql: try text(name, "table"))
        guard table.kind == .table || table.kind == .shadow else { return table }
        let info = try Row.fetchAll(
            db, sql: "SELECT * FROM pragma_table_xinfo(?, 'main') ORDER BY cid",
            arguments: [name])
        table.columns = info.map { column($0, of: name, strict: strict) }
        try AmbiguousNames.refuse(
            table.columns.lazy.map(\.name),
            in: "two columns of '\(name.printable(countMax: 60))' have")
        if table.columns.contains(where: \.isGenerated) {
            let expressions = Self.generatedColumns(in: table.sql)
            for index in table.columns.indices where table.columns[index].isGenerated {
                let name = SQLName.folded(table.columns[index].name)
                table.columns[index].generatedSQL = expressions[name]
            }
        }
        let key = info.filter { ($0["pk"] as Int) > 0 }
            .sorted { ($0["pk"] as Int) < ($1["pk"] as Int) }
        table.key = key.map { $0["name"] }
        table.uniqueIndexes = try uniqueIndexes(of: name, text: text)
        // INTEGER PRIMARY KEY DESC, and every other spelling, gets an index of its own.
        table.isIntegerKey =
            key.count == 1 && !table.isWithoutRowID
            && SQLName.isEqual(key[0]["type"] as String? ?? "", to: "INTEGER")
            && !table.uniqueIndexes.contains { $0.origin == .primaryKey }
        table.foreignKeys = try foreignKeys(of: name)
        table.checks = Self.checks(in: table.sql)
        return table
    }

    private func kind(ofType type: String, named name: String) -> TableSchema.Kind {
        if SQLName.folded(name).hasPrefix("sqlite_") { return .system }
        switch type {
        case "view": return .view
        case "virtual": return .virtual
        case "shadow": return .shadow
        default: return .table
        }
    }

    private func sql(of name: String, type: String) throws -> String {
        try String.fetchOne(
            db,
            sql: """
                SELECT sql FROM main.sqlite_schema
                WHERE name = ? COLLATE NOCASE AND (type = ? OR ? = 'table' AND type = 'view')
                """, arguments: [name, type, type]) ?? ""
    }

    private func column(_ row: Row, of table: String, strict: Bool) -> ColumnSchema {
        let name: String = row["name"]
        let type: String = row["type"] ?? ""
        var collation: UnsafePointer<CChar>?
        var autoincrement: Int32 = 0
        sqlite3_table_column_metadata(
            db.sqliteConnection, "main", table, name, nil, &collation, nil, nil, &autoincrement)
        let storage: ColumnSchema.Storage
        switch row["hidden"] as Int {
        case 1: storage = .hidden
        case 2: storage = .generatedVirtual
        case 3: storage = .generatedStored
        default: storage = .ordinary
        }
        return ColumnSchema(
            name: name, declaredType: type, affinity: Affinity(declaredType: type, strict: strict),
            collation: collation.map { String(cString: $0) } ?? "BINARY",
            isNotNull: row["notnull"], defaultSQL: row["dflt_value"], storage: storage,
            isAutoincrement: autoincrement != 0)
    }

    // MARK: Indexes

    private func uniqueIndexes(
        of table: String, text: (_ name: String, _ type: String) throws -> String
    ) throws -> [UniqueIndex] {
        try Row.fetchAll(
            db,
            sql: "SELECT * FROM pragma_index_list(?, 'main') WHERE \"unique\" ORDER BY seq DESC",
            arguments: [table]
        ).map { row in
            let name: String = row["name"]
            let origin: String = row["origin"]
            let parts = Self.indexParts(try text(name, "index"))
            let terms = try Row.fetchAll(
                db, sql: "SELECT * FROM pragma_index_xinfo(?, 'main') WHERE key ORDER BY seqno",
                arguments: [name])
            return UniqueIndex(
                name: name,
                origin: origin == "pk" ? .primaryKey : origin == "u" ? .constraint : .createIndex,
                terms: terms.enumerated().map { position, term in
                    let isExpression = (term["cid"] as Int) == -2
                    return UniqueIndex.Term(
                        column: term["name"],
                        expression: isExpression ? parts.terms[position] : nil,
                        collation: term["coll"] ?? "BINARY")
                },
                condition: parts.condition)
        }
    }

    /// The terms and the WHERE of `CREATE UNIQUE INDEX … ON t(…) WHERE …`; a trailing ASC or DESC
    /// is no part of a term.
    static func indexParts(_ sql: String) -> (terms: [String], condition: String?) {
        let tokens = SQLTokens(sql)
        guard let open = tokens.tokens.firstIndex(where: { $0.text == "(" }),
            let close = tokens.close(of: open)
        else { return ([], nil) }
        let terms = tokens.items(between: open, and: close).map { range in
            let last = tokens.tokens[range.upperBound - 1]
            let hasOrder = last.isWord("ASC") || last.isWord("DESC")
            return tokens.text(hasOrder ? range.dropLast() : range)
        }
        let rest = (close + 1)..<tokens.tokens.count
        guard let first = rest.first, tokens.tokens[first].isWord("WHERE") else {
            return (terms, nil)
        }
        return (terms, tokens.text((first + 1)..<tokens.tokens.count))
    }

    // MARK: Constraints

    private func foreignKeys(of table: String) throws -> [ForeignKeySchema] {
        let rows = try Row.fetchAll(
            db, sql: "SELECT * FROM pragma_foreign_key_list(?, 'main') ORDER BY id DESC, seq",
            arguments: [table])
        var keys: [ForeignKeySchema] = []
        for row in rows {
            if (row["seq"] as Int) == 0 {
                keys.append(
                    ForeignKeySchema(
                        columns: [], parent: row["table"], parentColumns: [],
                        onUpdate: ForeignKeySchema.Action(rawValue: row["on_update"]) ?? .noAction,
                        onDelete: ForeignKeySchema.Action(rawValue: row["on_delete"]) ?? .noAction))
            }
            keys[keys.count - 1].columns.append(row["from"])
            if let column: String = row["to"] {
                keys[keys.count - 1].parentColumns.append(column)
            }
        }
        return keys
    }

    /// The expression of each generated column of a CREATE TABLE, by the column's folded name.
    package static func generatedColumns(in sql: String) -> [String: String] {
        let tokens = SQLTokens(sql)
        guard let open = tokens.tokens.firstIndex(where: { $0.text == "(" }),
            let close = tokens.close(of: open)
        else { return [:] }
        var columns: [String: String] = [:]
        for item in tokens.items(between: open, and: close) {
            guard let first = item.first else { continue }
            let word = item.first { index in
                tokens.tokens[index].depth == 1 && tokens.tokens[index].isWord("AS")
                    && index > first && index + 1 < close && tokens.tokens[index + 1].text == "("
            }
            guard let word, let end = tokens.close(of: word + 1) else { continue }
            let name = SQLName.folded(SQLName.unquoted(tokens.tokens[first].text))
            columns[name] = tokens.text((word + 2)..<end)
        }
        return columns
    }

    package static func checks(in sql: String) -> [String] {
        let tokens = SQLTokens(sql)
        return tokens.tokens.indices.dropLast().compactMap { index in
            let token = tokens.tokens[index]
            guard token.depth == 1, token.isWord("CHECK"), tokens.tokens[index + 1].text == "(",
                let close = tokens.close(of: index + 1)
            else { return nil }
            return tokens.text((index + 2)..<close)
        }
    }
}
