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
    /// - Parameter isWanted: gets each name; the others are left out, and not read.
    /// - Complexity: O(columns and indexes of these tables, and the size of the schema)
    /// - Throws: the error of SQLite; `cannotTrack` when two objects, or two columns of a table,
    ///   have names that this program cannot tell apart (``AmbiguousNames``).
    package func tables(
        where isWanted: (_ name: String) -> Bool = { _ in true }
    ) throws -> [TableSchema] {
        try refuseAmbiguousNames()
        let texts = try allTexts()
        let queries = try SchemaQueries(db.openConnection)
        return try queries.allTables().filter { isWanted($0.name) }.map { entry in
            try table(entry, queries) { name, type in texts[Text(of: name, type)] ?? "" }
        }
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
        let queries = try SchemaQueries(db.openConnection)
        return try queries.table(name).map { try table($0, queries, text: sql) }
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
        let select = try Statement(
            """
            SELECT type, name, sql FROM main.sqlite_schema
            WHERE type IN ('table', 'view', 'index') AND sql IS NOT NULL
            """, on: db.openConnection)
        while try select.step() {
            let name = select.repairedText(1) ?? ""
            texts[Text(of: name, select.repairedText(0) ?? "")] = select.repairedText(2)
        }
        return texts
    }

    /// - Parameter text: the statement of an object by its name and type.
    private func table(
        _ entry: SchemaQueries.Table, _ queries: SchemaQueries,
        text: (_ name: String, _ type: String) throws -> String
    ) throws -> TableSchema {
        let name = entry.name
        var table = TableSchema(
            name: name, kind: kind(ofType: entry.type, named: name), columns: [], key: [],
            isIntegerKey: false,
            isWithoutRowID: entry.isWithoutRowID, isStrict: entry.isStrict, uniqueIndexes: [],
            foreignKeys: [], checks: [], sql: try text(name, "table"))
        guard table.kind == .table || table.kind == .shadow else { return table }
        let columns = try queries.columns(of: name)
        table.columns = columns.map { column($0, of: name, strict: entry.isStrict) }
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
        let key = columns.filter { $0.placeInKey > 0 }.sorted { $0.placeInKey < $1.placeInKey }
        table.key = key.map(\.name)
        table.uniqueIndexes = try uniqueIndexes(of: name, queries, text: text)
        // INTEGER PRIMARY KEY DESC, and every other spelling, gets an index of its own.
        table.isIntegerKey =
            key.count == 1 && !table.isWithoutRowID
            && SQLName.isEqual(key[0].type, to: "INTEGER")
            && !table.uniqueIndexes.contains { $0.origin == .primaryKey }
        table.foreignKeys = try queries.foreignKeys(of: name)
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

    private func column(
        _ column: SchemaQueries.Column, of table: String, strict: Bool
    ) -> ColumnSchema {
        var collation: UnsafePointer<CChar>?
        var autoincrement: Int32 = 0
        sqlite3_table_column_metadata(
            db.sqliteConnection, "main", table, column.name, nil, &collation, nil, nil,
            &autoincrement)
        return ColumnSchema(
            name: column.name, declaredType: column.type,
            affinity: Affinity(declaredType: column.type, strict: strict),
            collation: collation.map { String(cString: $0) } ?? "BINARY",
            isNotNull: column.isNotNull, defaultSQL: column.defaultSQL, storage: column.storage,
            isAutoincrement: autoincrement != 0)
    }

    // MARK: Indexes

    private func uniqueIndexes(
        of table: String, _ queries: SchemaQueries,
        text: (_ name: String, _ type: String) throws -> String
    ) throws -> [UniqueIndex] {
        try queries.uniqueIndexes(of: table).map { index in
            let parts = Self.indexParts(try text(index.name, "index"))
            return UniqueIndex(
                name: index.name, origin: index.origin,
                terms: try queries.terms(ofIndex: index.name).enumerated().map { position, term in
                    UniqueIndex.Term(
                        column: term.column,
                        expression: term.isExpression ? parts.terms[position] : nil,
                        collation: term.collation)
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

    // MARK: Texts

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
