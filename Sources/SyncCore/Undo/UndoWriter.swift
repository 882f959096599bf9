import GRDB

/// Writes rows back, as an ordinary writer of the user's tables would: triggers fire, constraints
/// hold.
///
/// One transaction on a connection of its own, with foreign keys enforced at its end, so that the
/// order of parents and children does not matter.
struct UndoWriter {
    private let database: Database
    private let tables: [String: TableSchema]

    /// Runs `body` in one transaction that names its author.
    ///
    /// - Parameter context: what is being undone, for history.
    /// - Throws: ``SyncError`` `refused` when a constraint does not allow it: nothing was written
    ///   then.
    static func transaction<Result>(
        _ path: String, author: String, context: String,
        _ body: (UndoWriter) throws -> Result
    ) throws -> Result {
        let queue = try StoreConnection.openQueue(path, foreignKeys: true)
        defer { try? queue.close() }
        return try queue.writeWithoutTransaction { database in
            var result: Result?
            try database.inTransaction(.immediate) {
                try database.execute(sql: "PRAGMA defer_foreign_keys = ON")
                let tables = try SchemaReader(database).tables()
                try database.execute(
                    sql: "INSERT INTO syncd_txn(author, context) VALUES (?, ?)",
                    arguments: [author, context])
                let writer = UndoWriter(
                    database: database,
                    tables: Dictionary(tables.map { (SQLName.folded($0.name), $0) }) { $1 })
                result = try body(writer)
                try database.execute(sql: "INSERT INTO syncd_txn(author) VALUES (NULL)")
                return .commit
            }
            guard let result else { throw SyncError(.internalFault, "nothing was done") }
            return result
        }
    }

    /// The table of an entity.
    /// - Throws: `unknownEntity` when it was dropped.
    func table(_ entity: String) throws -> TableSchema {
        guard let table = tables[SQLName.folded(entity)], table.kind == .table else {
            throw SyncError(.unknownEntity, "the table \(entity) is not there any more")
        }
        return table
    }

    func exists(_ table: TableSchema, _ key: ObjectKey) throws -> Bool {
        try hasRow(table, table.key, key.values)
    }

    private func hasRow(
        _ table: TableSchema, _ columns: [String], _ values: [Value]
    ) throws -> Bool {
        let condition = columns.map { SQLName.quoted($0) + " IS ?" }.joined(separator: " AND ")
        let sql = "SELECT 1 FROM \(SQLName.quoted(table.name)) WHERE \(condition)"
        let row = try Statement(try connection, sql)
        row.bind(values)
        defer { row.reset() }
        return try row.step()
    }

    func delete(_ table: TableSchema, _ key: ObjectKey) throws {
        try run("DELETE FROM \(SQLName.quoted(table.name)) WHERE \(condition(table))", key.values)
    }

    func update(_ table: TableSchema, _ key: ObjectKey, _ values: NamedValues) throws {
        let assignments = values.pairs.map { SQLName.quoted($0.name) + " = ?" }
        try run(
            "UPDATE \(SQLName.quoted(table.name)) SET \(assignments.joined(separator: ", ")) "
                + "WHERE \(condition(table))",
            values.pairs.map(\.value) + key.values)
    }

    func insert(_ table: TableSchema, _ values: NamedValues) throws {
        let names = values.pairs.map { SQLName.quoted($0.name) }.joined(separator: ", ")
        let marks = values.pairs.map { _ in "?" }.joined(separator: ", ")
        try run(
            "INSERT INTO \(SQLName.quoted(table.name))(\(names)) VALUES (\(marks))",
            values.pairs.map(\.value))
    }

    /// The references in `values` that lead to no object now.
    func danglingReferences(_ table: TableSchema, _ values: NamedValues) throws -> [ForeignKey] {
        try table.foreignKeys.filter { reference in
            let key = reference.columns.map { values[$0] ?? .null }
            guard !key.contains(.null), let parent = tables[SQLName.folded(reference.parent)] else {
                return false
            }
            let columns = reference.parentColumns.isEmpty ? parent.key : reference.parentColumns
            return try !hasRow(parent, columns, key)
        }
    }

    private func condition(_ table: TableSchema) -> String {
        table.key.map { SQLName.quoted($0) + " IS ?" }.joined(separator: " AND ")
    }

    private func run(_ sql: String, _ values: [Value]) throws {
        let statement = try Statement(try connection, sql)
        statement.bind(values)
        try statement.run()
    }

    private var connection: OpaquePointer {
        get throws {
            guard let connection = database.sqliteConnection else {
                throw SyncError(.internalFault, "the connection is closed")
            }
            return connection
        }
    }
}
