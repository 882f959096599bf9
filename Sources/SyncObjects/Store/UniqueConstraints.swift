import GRDB
import SyncCore

/// The UNIQUE constraints of a table, as its schema has them: finds the one that a row violates.
///
/// SQLite names the columns of a violated constraint only in the text of its message. They are
/// found here from the schema instead: the constraint is the first, in the order in which SQLite
/// checks them, for which another row has the same values. Where two constraints are violated at
/// once, this may name the other one.
///
/// Not found, so that the conflict names no columns: a constraint on an expression, on a column
/// that the model does not have, and one of another table that a trigger writes.
struct UniqueConstraints {
    private struct Column {
        let name: String
        let collation: String
    }

    private let table: TableLayout
    private let db: Database

    init(of table: TableLayout, in db: Database) {
        self.table = table
        self.db = db
    }

    /// The columns of the constraint that a row violates; empty when it is not found.
    ///
    /// - Parameters:
    ///   - value: The row's value of a column; nil for a column that is not known.
    ///   - own: The key of the row when it is in the table already, so that it is not compared with
    ///     itself.
    /// - Throws: GRDB's error when the schema or the rows cannot be read.
    /// - Complexity: O(constraints · log rows)
    func violated(
        by value: (_ column: String) -> Value?, own: ManagedObjectKey?
    ) throws -> [String] {
        for columns in try constraints() {
            let values = columns.compactMap { value($0.name) }
            // NULL differs from every value, NULL included.
            guard values.count == columns.count, !values.contains(.null) else { continue }
            if try isTaken(columns, values: values, own: own) { return columns.map(\.name) }
        }
        return []
    }

    private func isTaken(
        _ columns: [Column], values: [Value], own: ManagedObjectKey?
    ) throws -> Bool {
        var conditions = columns.map {
            "\(SQLText.quoted($0.name)) = ? COLLATE \(SQLText.quoted($0.collation))"
        }
        if own != nil {
            let key = table.key.map { "\(SQLText.quoted($0.column)) = ?" }
            conditions.append("NOT (\(key.joined(separator: " AND ")))")
        }
        let statement = try RawStatement(
            db,
            sql: "SELECT EXISTS(SELECT 1 FROM \(SQLText.quoted(table.name)) WHERE "
                + conditions.joined(separator: " AND ") + ")")
        statement.bind(values + (own?.values ?? []))
        return try statement.number() == 1
    }

    /// The rowid first, then the unique indexes. An index without a name for each column is left
    /// out.
    private func constraints() throws -> [[Column]] {
        var constraints: [[Column]] = []
        if table.key.count == 1, table.key[0].isRowID {
            constraints.append([Column(name: table.key[0].column, collation: "BINARY")])
        }
        let names = try String.fetchAll(
            db, sql: "SELECT name FROM pragma_index_list(?) WHERE \"unique\" = 1 ORDER BY seq",
            arguments: [table.name])
        for name in names {
            let rows = try Row.fetchAll(
                db,
                sql: "SELECT name, coll FROM pragma_index_xinfo(?) WHERE key = 1 ORDER BY seqno",
                arguments: [name])
            let columns = rows.compactMap { row -> Column? in
                guard let name = row[0] as String? else { return nil }
                return Column(name: name, collation: row[1] as String? ?? "BINARY")
            }
            if columns.count == rows.count { constraints.append(columns) }
        }
        return constraints
    }
}
