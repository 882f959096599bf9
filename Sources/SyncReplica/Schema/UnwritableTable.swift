import CSQLite
import GRDB
import SyncCore
import SyncStorage
import SyncValues

/// A tracked table that SQLite cannot write without a function or a collation that only an
/// application has, for an index, a CHECK or a generated column: what other replicas write to it
/// cannot be merged here, and stops each exchange.
public struct UnwritableTable: Sendable, Hashable {
    /// The table's name.
    public let name: String
    /// What is missing, in the words of SQLite.
    public let reason: String

    /// The tables of a file, found by compiling what writes each. Triggers do not count: merging
    /// leaves them out.
    /// - Throws: ``SyncError``: as ``Store/open(_:)``.
    /// - Complexity: O(schema)
    public static func all(_ path: String) throws -> [UnwritableTable] {
        let queue = try DatabaseOpener.open(path, for: .reading)
        defer { try? queue.close() }
        return try queue.read { database in
            guard let connection = database.sqliteConnection else { return [] }
            _ = syncd_sqlite_enable_triggers(connection, 0)
            return try EntityTable.liveTables(of: database).sorted { $0.name < $1.name }
                .compactMap { table in
                    missing(in: table, on: connection).map {
                        UnwritableTable(name: table.name, reason: $0)
                    }
                }
        }
    }

    private static func missing(in table: TableSchema, on connection: OpaquePointer) -> String? {
        let name = SQLName.quoted(table.name)
        let columns = table.storedColumns.map { SQLName.quoted($0.name) }
        let marks = columns.map { _ in "?" }.joined(separator: ", ")
        // SQLite looks for the functions of a CHECK when a row is written.
        let statements =
            ["INSERT INTO \(name)(\(columns.joined(separator: ", "))) VALUES (\(marks))"]
            + table.checks.map { "SELECT 1 FROM \(name) WHERE (\($0))" }
        for sql in statements where (try? Statement(sql, on: connection)) == nil {
            // An error of another kind is told when a row is written.
            let message = String(cString: sqlite3_errmsg(connection))
            if SyncError.isOfApplication(message) { return message }
        }
        return nil
    }
}
