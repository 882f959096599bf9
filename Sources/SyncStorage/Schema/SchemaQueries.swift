import CSQLite

/// What SQLite's pragmas say of tables and indexes. Each statement is prepared once for all tables:
/// to prepare it costs more than to run it.
///
/// Confined to its connection's queue, and to one read or write.
struct SchemaQueries {
    private let list: Statement
    private let table: Statement
    private let columns: Statement
    private let indexes: Statement
    private let terms: Statement
    private let foreignKeys: Statement

    /// - Throws: the error of SQLite.
    init(_ connection: OpaquePointer) throws {
        func statement(_ sql: String) throws -> Statement { try Statement(sql, on: connection) }
        let entry = "SELECT name, type, wr, strict FROM pragma_table_list"
        list = try statement(entry + " WHERE schema = 'main' ORDER BY name")
        table = try statement(entry + "(?1) WHERE schema = 'main'")
        columns = try statement(
            """
            SELECT name, type, "notnull", dflt_value, pk, hidden
            FROM pragma_table_xinfo(?1, 'main') ORDER BY cid
            """)
        indexes = try statement(
            """
            SELECT name, origin FROM pragma_index_list(?1, 'main')
            WHERE "unique" ORDER BY seq DESC
            """)
        terms = try statement(
            "SELECT cid, name, coll FROM pragma_index_xinfo(?1, 'main') WHERE key ORDER BY seqno")
        foreignKeys = try statement(
            """
            SELECT seq, "table", "from", "to", on_update, on_delete
            FROM pragma_foreign_key_list(?1, 'main') ORDER BY id DESC, seq
            """)
    }

    // MARK: Tables

    /// Whatever has a table's name.
    struct Table {
        let name: String
        /// As the pragma calls it: `table`, `view`, `virtual`, `shadow`.
        let type: String
        let isWithoutRowID: Bool
        let isStrict: Bool

        fileprivate init(_ row: Statement) {
            name = row.repairedText(0) ?? ""
            type = row.repairedText(1) ?? ""
            isWithoutRowID = row.integer(2) != 0
            isStrict = row.integer(3) != 0
        }
    }

    /// In order of name.
    func allTables() throws -> [Table] { try list.map(Table.init) }

    func table(_ name: String) throws -> Table? {
        table.bind(name, at: 1)
        return try table.map(Table.init).first
    }

    // MARK: Columns

    struct Column {
        let name: String
        let type: String
        let isNotNull: Bool
        let defaultSQL: String?
        /// From 1; 0: it is no part of the key.
        let placeInKey: Int64
        let storage: ColumnSchema.Storage

        fileprivate init(_ row: Statement) {
            name = row.repairedText(0) ?? ""
            type = row.repairedText(1) ?? ""
            isNotNull = row.integer(2) != 0
            defaultSQL = row.repairedText(3)
            placeInKey = row.integer(4)
            switch row.integer(5) {
            case 1: storage = .hidden
            case 2: storage = .generatedVirtual
            case 3: storage = .generatedStored
            default: storage = .ordinary
            }
        }
    }

    func columns(of table: String) throws -> [Column] {
        columns.bind(table, at: 1)
        return try columns.map(Column.init)
    }

    // MARK: Indexes

    struct Index {
        let name: String
        let origin: UniqueIndex.Origin

        fileprivate init(_ row: Statement) {
            name = row.repairedText(0) ?? ""
            let origin = row.repairedText(1)
            self.origin =
                origin == "pk" ? .primaryKey : origin == "u" ? .constraint : .createIndex
        }
    }

    struct Term {
        /// Nil for an expression.
        let column: String?
        let isExpression: Bool
        let collation: String

        fileprivate init(_ row: Statement) {
            isExpression = row.integer(0) == -2
            column = row.repairedText(1)
            collation = row.repairedText(2) ?? "BINARY"
        }
    }

    /// In the order in which they were made.
    func uniqueIndexes(of table: String) throws -> [Index] {
        indexes.bind(table, at: 1)
        return try indexes.map(Index.init)
    }

    func terms(ofIndex name: String) throws -> [Term] {
        terms.bind(name, at: 1)
        return try terms.map(Term.init)
    }

    // MARK: Foreign keys

    /// In the order in which the table declares them.
    func foreignKeys(of table: String) throws -> [ForeignKeySchema] {
        foreignKeys.bind(table, at: 1)
        var keys: [ForeignKeySchema] = []
        while try foreignKeys.step() {
            let row = foreignKeys
            func action(_ column: Int32) -> ForeignKeySchema.Action {
                row.repairedText(column).flatMap(ForeignKeySchema.Action.init) ?? .noAction
            }
            if row.integer(0) == 0 {
                keys.append(
                    ForeignKeySchema(
                        columns: [], parent: row.repairedText(1) ?? "", parentColumns: [],
                        onUpdate: action(4), onDelete: action(5)))
            }
            keys[keys.count - 1].columns.append(row.repairedText(2) ?? "")
            if let column = row.repairedText(3) {
                keys[keys.count - 1].parentColumns.append(column)
            }
        }
        return keys
    }
}

extension Statement {
    /// A name of the schema: what is not UTF-8 in it is repaired, so that it can be shown.
    func repairedText(_ column: Int32) -> String? {
        guard let text = sqlite3_column_text(handle, column) else { return nil }
        let count = Int(sqlite3_column_bytes(handle, column))
        return String(decoding: UnsafeBufferPointer(start: text, count: count), as: UTF8.self)
    }

    /// Every row, made into something.
    fileprivate func map<Element>(_ make: (Statement) -> Element) throws -> [Element] {
        var elements: [Element] = []
        while try step() { elements.append(make(self)) }
        return elements
    }
}
