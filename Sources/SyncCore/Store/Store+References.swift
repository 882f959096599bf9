import GRDB
import SyncStorage
import SyncValues

/// What is wrong with the foreign keys of one table.
public struct ReferenceFinding: Sendable, Hashable {
    /// What was found.
    public enum Kind: Sendable, Hashable {
        /// This many rows refer to rows that are not there: written with foreign keys switched off,
        /// or on a replica whose schema does not have the reference.
        case dangling(count: Int)
        /// A foreign key refers to columns that are neither the primary key nor UNIQUE: SQLite
        /// cannot check it, and refuses writes where foreign keys are switched on.
        /// - `key`: the foreign key, as `child(a) → parent(b)`.
        /// - `index`: the statement that makes the columns UNIQUE; nil where there are none such.
        case mismatched(key: String, index: String?)
    }

    /// The table's name.
    public let table: String
    /// What was found.
    public let kind: Kind
}

extension Store {
    /// What is wrong with the foreign keys of each table. A table whose foreign keys cannot be
    /// checked does not keep the others from being checked.
    ///
    /// - Throws: as ``integrity(_:)``.
    /// - Complexity: O(size of the tables with foreign keys).
    public static func referenceFindings(_ path: String) throws -> [ReferenceFinding] {
        try explaining("check", at: path) {
            let queue = try DatabaseOpener.open(path, for: .reading)
            defer { try? queue.close() }
            return try queue.read { database in
                let tables = try SchemaReader(database).tables().filter { $0.kind == .table }
                return try tables.filter { !$0.foreignKeys.isEmpty }
                    .sorted { $0.name < $1.name }
                    .flatMap { try findings(of: $0, among: tables, in: database) }
            }
        }
    }

    private static func findings(
        of table: TableSchema, among tables: [TableSchema], in database: Database
    ) throws -> [ReferenceFinding] {
        do {
            let count = try Int.fetchOne(
                database, sql: "SELECT count(*) FROM pragma_foreign_key_check(?)",
                arguments: [table.name])
            guard let count, count > 0 else { return [] }
            return [ReferenceFinding(table: table.name, kind: .dangling(count: count))]
        } catch let error as DatabaseError where error.resultCode == .SQLITE_ERROR {
            let found = table.foreignKeys.compactMap { mismatch(of: $0, in: table, among: tables) }
            guard found.isEmpty else { return found }
            // One that only SQLite finds, as of a collation.
            let key = error.message ?? "foreign key mismatch"
            return [ReferenceFinding(table: table.name, kind: .mismatched(key: key, index: nil))]
        }
    }

    private static func mismatch(
        of foreignKey: ForeignKeySchema, in table: TableSchema, among tables: [TableSchema]
    ) -> ReferenceFinding? {
        guard let parent = tables.first(where: { SQLName.isEqual($0.name, to: foreignKey.parent) })
        else { return nil }
        func folded(_ names: [String]) -> [String] { names.map(SQLName.folded).sorted() }
        let named = foreignKey.parentColumns.isEmpty ? parent.key : foreignKey.parentColumns
        let wanted = folded(named)
        let isOfKey = folded(parent.key) == wanted
        let isUnique = parent.uniqueIndexes.contains { index in
            !index.isPartial && !index.isExpression
                && folded(index.terms.compactMap(\.column)) == wanted
        }
        let isCounted = named.count == foreignKey.columns.count && !named.isEmpty
        guard !isCounted || !(isOfKey || isUnique) else { return nil }
        let key =
            "\(table.name)(\(foreignKey.columns.joined(separator: ", "))) → "
            + "\(parent.name)(\(named.joined(separator: ", ")))"
        let isThere = named.allSatisfy { parent.column($0) != nil }
        let columns = named.map(SQLName.quoted).joined(separator: ", ")
        let name = SQLName.quoted("\(parent.name)_\(named.joined(separator: "_"))")
        let index =
            isCounted && isThere
            ? "CREATE UNIQUE INDEX \(name) ON \(SQLName.quoted(parent.name))(\(columns))" : nil
        return ReferenceFinding(table: table.name, kind: .mismatched(key: key, index: index))
    }
}
