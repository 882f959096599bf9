import GRDB
import SyncStorage
import SyncValues

/// Writes rows back, as an ordinary writer of the user's tables would: triggers fire, constraints
/// hold.
///
/// One transaction on a connection of its own, with foreign keys enforced at its end, so that the
/// order of parents and children does not matter. `ON CONFLICT` clauses of the tables do not apply:
/// they would replace another row, or leave out the written one, in silence.
struct UndoWriter {
    let tables: [String: TableSchema]
    private let database: Database

    /// Runs `body` in one transaction that names its author.
    ///
    /// - Parameter context: what is being undone, for history.
    /// - Throws: ``SyncError`` `refused` when a constraint does not allow it: nothing was written
    ///   then.
    static func transaction<Result>(
        at path: String, author: String, context: String,
        _ body: (UndoWriter) throws -> Result
    ) throws -> Result {
        let queue = try DatabaseOpener.open(path, foreignKeys: true)
        defer { try? queue.close() }
        return try queue.writeWithoutTransaction { database in
            // In the rollback journal modes spilling would lock out readers of the history.
            try database.execute(sql: "PRAGMA cache_spill = OFF")
            var result: Result?
            try database.inTransaction(.immediate) {
                try database.execute(sql: "PRAGMA defer_foreign_keys = ON")
                let tables = try SchemaReader(database).tables()
                try database.execute(
                    sql: "INSERT INTO syncd_txn(author, context) VALUES (?, ?)",
                    arguments: [author, context])
                let writer = UndoWriter(
                    tables: Dictionary(tables.map { (SQLName.folded($0.name), $0) }) { $1 },
                    database: database)
                do {
                    result = try body(writer)
                    try ReferenceCheck(try writer.connection, tables: tables).run()
                } catch let error as SyncError where error.code == .refused && error.hint == nil {
                    throw error.hinting(path)
                }
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
            throw SyncError(.unknownEntity, "the table \(entity) no longer exists")
        }
        return table
    }

    func exists(in table: TableSchema, key: ObjectKey) throws -> Bool {
        try hasRow(in: table, columns: table.key, values: key.values)
    }

    private func hasRow(
        in table: TableSchema, columns: [String], values: [Value]
    ) throws -> Bool {
        let condition = columns.map { SQLName.quoted($0) + " IS ?" }.joined(separator: " AND ")
        let sql = "SELECT 1 FROM \(SQLName.quoted(table.name)) WHERE \(condition)"
        let row = try Statement(sql, on: try connection)
        row.bind(values)
        defer { row.reset() }
        return try row.step()
    }

    func delete(from table: TableSchema, key: ObjectKey) throws {
        try run(
            on: table, sql: "DELETE FROM \(SQLName.quoted(table.name)) WHERE \(condition(table))",
            values: key.values)
    }

    func update(in table: TableSchema, key: ObjectKey, values: NamedValues) throws {
        let assignments = values.pairs.map { SQLName.quoted($0.name) + " = ?" }
            .joined(separator: ", ")
        try run(
            on: table,
            sql: "UPDATE\(orAbort(table)) \(SQLName.quoted(table.name)) SET \(assignments) "
                + "WHERE \(condition(table))",
            values: values.pairs.map(\.value) + key.values)
    }

    func insert(into table: TableSchema, values: NamedValues) throws {
        let names = values.pairs.map { SQLName.quoted($0.name) }.joined(separator: ", ")
        let marks = values.pairs.map { _ in "?" }.joined(separator: ", ")
        try run(
            on: table,
            sql: "INSERT\(orAbort(table)) INTO \(SQLName.quoted(table.name))(\(names)) "
                + "VALUES (\(marks))",
            values: values.pairs.map(\.value))
    }

    /// The references in `values` that lead to no object now.
    func danglingReferences(of table: TableSchema, values: NamedValues) throws
        -> [ForeignKeySchema]
    {
        try table.foreignKeys.filter { reference in
            let key = reference.columns.map { values[$0] ?? .null }
            guard !key.contains(.null), let parent = tables[SQLName.folded(reference.parent)] else {
                return false
            }
            let columns = reference.parentColumns.isEmpty ? parent.key : reference.parentColumns
            return try !hasRow(in: parent, columns: columns, values: key)
        }
    }

    /// The values of a row by column; nil when there is none.
    func row(in table: TableSchema, key: ObjectKey) throws -> NamedValues? {
        let columns = table.storedColumns.map(\.name)
        let row = try Statement(
            "SELECT \(columns.map(SQLName.quoted).joined(separator: ", ")) FROM "
                + "\(SQLName.quoted(table.name)) WHERE \(condition(table))", on: try connection)
        row.bind(key.values)
        defer { row.reset() }
        guard try row.step() else { return nil }
        return NamedValues(
            columns.enumerated().map { .init(name: $1, value: row.value(Int32($0))) })
    }

    /// A row that a foreign key with an action leads from to an object: `album/10`. Deleting the
    /// object, or changing its key, would delete or change it along. Nil when there is none.
    ///
    /// - Parameter action: the action that counts. One that makes a row follow a new key
    ///   does not.
    /// - Complexity: O(rows of the tables that refer to it), where they have no index for that.
    func referrer(
        to change: Change,
        acting action: KeyPath<ForeignKeySchema, ForeignKeySchema.Action> = \.onDelete
    ) throws -> String? {
        try referrers(to: change, acting: action, max: 1).first
    }

    /// All such rows, at most `max` along each foreign key.
    ///
    /// - Complexity: as ``referrer(to:acting:)``.
    func referrers(
        to change: Change,
        acting action: KeyPath<ForeignKeySchema, ForeignKeySchema.Action> = \.onDelete, max: Int
    ) throws -> [String] {
        var acting: Set<ForeignKeySchema.Action> = [.setNull, .setDefault]
        if action == \.onDelete { acting.insert(.cascade) }
        return try referrers(to: change, max: max) { acting.contains($0[keyPath: action]) }
            .map(\.text)
    }

    /// The rows that would follow a new key of an object. A row of a table without a key is none:
    /// history does not have it.
    ///
    /// - Complexity: as ``referrer(to:acting:)``.
    func followers(of change: Change) throws -> [ObjectName] {
        try referrers(to: change, max: .max) { $0.onUpdate == .cascade }.compactMap(\.name)
    }

    private typealias Referrer = (text: String, name: ObjectName?)

    private func referrers(
        to change: Change, max: Int, where isActing: (ForeignKeySchema) -> Bool
    ) throws -> [Referrer] {
        let parent = try table(change.entity)
        var found: [Referrer] = []
        for child in tables.values.sorted(by: { $0.name < $1.name }) where child.kind == .table {
            for reference in child.foreignKeys
            where SQLName.isEqual(reference.parent, to: parent.name) && isActing(reference) {
                found += try referrers(
                    in: child, along: reference, to: parent, key: change.object.key, max: max)
            }
        }
        return found
    }

    /// How the rows in ``referrers(to:acting:max:)`` are named.
    func name(of object: ObjectID) -> String {
        (tables[SQLName.folded(object.entity)]?.name ?? object.entity) + "/\(object.key)"
    }

    private func referrers(
        in child: TableSchema, along reference: ForeignKeySchema, to parent: TableSchema,
        key: ObjectKey, max: Int
    ) throws -> [Referrer] {
        let targets = reference.parentColumns.isEmpty ? parent.key : reference.parentColumns
        guard targets.count == reference.columns.count, !targets.isEmpty else { return [] }
        let joined = zip(targets, reference.columns).map {
            "p.\(SQLName.quoted($0)) = c.\(SQLName.quoted($1))"
        }
        let isParent = parent.key.map { "p.\(SQLName.quoted($0)) IS ?" }
        var conditions = isParent + joined
        if SQLName.isEqual(child.name, to: parent.name) {
            let isSame = parent.key.map { "c.\(SQLName.quoted($0)) IS p.\(SQLName.quoted($0))" }
            conditions.append("NOT (\(isSame.joined(separator: " AND ")))")
        }
        let shown = child.key.isEmpty ? reference.columns : child.key
        let row = try Statement(
            "SELECT \(shown.map { "c." + SQLName.quoted($0) }.joined(separator: ", ")) FROM "
                + "\(SQLName.quoted(parent.name)) p, \(SQLName.quoted(child.name)) c WHERE "
                + conditions.joined(separator: " AND ") + " LIMIT \(max)", on: try connection)
        row.bind(key.values)
        var found: [Referrer] = []
        while try row.step() {
            if child.key.isEmpty {
                found.append(("a row of \(child.name)", nil))
            } else {
                let key = ObjectKey(shown.indices.map { row.value(Int32($0)) })
                found.append(
                    (child.name + "/\(key)", ObjectName(entity: child.name, key: key)))
            }
        }
        return found
    }

    private func condition(_ table: TableSchema) -> String {
        table.key.map { SQLName.quoted($0) + " IS ?" }.joined(separator: " AND ")
    }

    /// Only where the table has such a clause: what a statement says also overrides what the user's
    /// triggers that it fires say.
    private func orAbort(_ table: TableSchema) -> String {
        table.sql.uppercased().contains("CONFLICT") ? " OR ABORT" : ""
    }

    private func run(on table: TableSchema, sql: String, values: [Value]) throws {
        let statement = try Statement(sql, on: try connection)
        statement.bind(values)
        try statement.run()
        guard statement.changes == 1 else {
            throw SyncError(.refused, "a trigger of \(table.name) prevents the change")
        }
    }

    /// The transaction is open: a trigger of the user can roll it back.
    var isOpen: Bool { database.isInsideTransaction }

    var connection: OpaquePointer {
        get throws {
            guard let connection = database.sqliteConnection else {
                throw SyncError(.internalFault, "the connection is closed")
            }
            return connection
        }
    }
}

extension SyncError {
    /// A statement of the undo that a constraint refused, with what to do about it.
    fileprivate func hinting(_ path: String) -> SyncError {
        var error = self
        error.hint =
            "Nothing was written. To see later changes: synctool history \(Shell.quoted(path))"
        return error
    }
}
