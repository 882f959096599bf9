import CSQLite
import GRDB
import SyncStorage
import SyncValues

/// A column that is added with its definition in the store's schema. The statement is made here;
/// the definition is a part of a CREATE TABLE that passed the review.
struct AddedColumn {
    /// `ALTER TABLE … ADD COLUMN …`
    let sql: String
    /// Why no table gets such a column after it was made; nil: some do.
    private let impossible: String?

    /// - Returns: nil where the definition is not found in the text of the table.
    init?(_ name: String, of theirs: TableSchema, to table: String) {
        let tokens = SQLTokens(theirs.sql)
        guard let open = tokens.tokens.firstIndex(where: { $0.text == "(" }),
            let close = tokens.close(of: open)
        else { return nil }
        let item = tokens.items(between: open, and: close).first { item in
            guard let first = item.first else { return false }
            return SQLName.isEqual(SQLName.unquoted(tokens.tokens[first].text), to: name)
        }
        guard let item else { return nil }
        let isUnique = theirs.uniqueIndexes.contains { index in
            index.origin == .constraint
                && index.terms.contains { SQLName.isEqual($0.column ?? "", to: name) }
        }
        let isKey = theirs.key.contains { SQLName.isEqual($0, to: name) }
        impossible =
            isKey
            ? "it is a part of the primary key"
            : isUnique ? "it is UNIQUE, and SQLite adds no such column to a table" : nil
        sql = "ALTER TABLE \(SQLName.quoted(table)) ADD COLUMN \(tokens.text(item))"
    }

    /// Why SQLite would not add it to a table with rows; nil: it would. Tried in an empty database
    /// that has a table with the columns that are here.
    /// - Throws: `internalFault` where no database in memory can be made.
    func objection(with ours: TableSchema) throws -> String? {
        if let impossible { return impossible }
        let queue = try DatabaseQueue()
        defer { try? queue.close() }
        return try queue.inDatabase { database in
            let connection = try database.openConnection
            let columns = ours.storedColumns.map { SQLName.quoted($0.name) }
            let table = SQLName.quoted(ours.name)
            try database.execute(sql: "CREATE TABLE \(table)(\(columns.joined(separator: ", ")))")
            try database.execute(sql: "INSERT INTO \(table) DEFAULT VALUES")
            try ConfinedStatement.confine(connection)
            let name = SQLName.folded(ours.name)
            let tables = ReceivedNames.schemaTables.union([
                "sqlite_temp_master", "sqlite_temp_schema", "pragma_quick_check", name,
            ])
            var isAltering = false
            let judge = SchemaJudge { action in
                let (first, second) = action.names
                switch action.code {
                case SQLITE_SELECT: return true
                case SQLITE_FUNCTION: return !ReceivedNames.refusedFunctions.contains(second)
                case SQLITE_ALTER_TABLE:
                    isAltering = true
                    return first == "main" && second == name
                // ALTER TABLE checks a new CHECK or NOT NULL with a pragma.
                case SQLITE_PRAGMA: return first == "quick_check"
                case SQLITE_READ, SQLITE_UPDATE:
                    return tables.contains(first)
                default: return false
                }
            }
            do {
                try ConfinedStatement(sql, on: connection).run(judge, isAllowed: { isAltering })
                return nil
            } catch let error as SyncError where [.badData, .refused].contains(error.code) {
                return error.reason
            }
        }
    }
}
