import GRDB
import SyncStorage
import SyncValues

/// Rows whose PRIMARY KEY holds NULL. SQLite permits any number of them in a table with a rowid; no
/// key tells them apart, so that they are neither recorded nor synchronised.
public struct NullKeys: Sendable, Hashable {
    /// The table.
    public let table: String
    /// How many of its rows have NULL in a column of the key.
    public let count: Int

    /// The tracked tables that have such rows, in order of name.
    /// - Throws: the error of SQLite.
    /// - Complexity: O(rows) for a table whose key has several columns that may be NULL, else
    ///   O(such rows)
    package static func all(_ db: Database) throws -> [NullKeys] {
        let tracked = Set(try EntityTable(db).live().map { SQLName.folded($0.name) })
        return try SchemaReader(db).tables().compactMap { table in
            guard tracked.contains(SQLName.folded(table.name)), !table.isIntegerKey,
                !table.isWithoutRowID
            else { return nil }
            let columns = table.keyColumns.filter { !$0.isNotNull }
            if columns.isEmpty { return nil }
            let conditions = columns.map { SQLName.quoted($0.name) + " IS NULL" }
            let count = try Int.fetchOne(
                db,
                sql: "SELECT count(*) FROM \(SQLName.quoted(table.name)) WHERE "
                    + conditions.joined(separator: " OR "))
            return count.flatMap { $0 > 0 ? NullKeys(table: table.name, count: $0) : nil }
        }
    }
}
