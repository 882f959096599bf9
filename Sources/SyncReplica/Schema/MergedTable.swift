import SyncMerge
import SyncStorage

/// A tracked table as merging and SQL see it: the SQL of its rows, by position of the entity's
/// columns.
struct MergedTable: Sendable {
    /// The table's name as the schema spells it.
    let name: String
    /// The CREATE statement.
    let sql: String
    /// The expressions of the CHECKs, in the order of the entity's.
    let checks: [String]
    /// The columns, in the order of the entity's.
    let columns: [String]
    /// The affinities of the columns.
    let affinities: [Affinity]
    /// Positions of the key's columns.
    let key: [Int]
    /// Columns under a UNIQUE, the key's included: a row that changes in one of them is deleted
    /// and inserted, because SQLite checks UNIQUE row by row.
    let claimed: Set<Int>

    /// The collation by which references compare with each of the key's columns.
    let keyCollations: [String]
    /// Whether a key may be spelled in several ways.
    let hasSpellings: Bool

    /// Reads the rows that claim given values, for each claim of the entity.
    let selectClaimants: [String]
    /// Reads all rows.
    let selectAll: String
    /// Reads the rows with a key, ordered by it as it is spelled.
    let selectInOrder: String
    /// Reads the row of a key.
    let selectOne: String
    /// Reads the key of the row of a key, which may spell it otherwise.
    let selectKey: String
    /// Inserts a row.
    let insert: String
    /// Deletes the row of a key.
    let delete: String
    /// The greatest private number in use; with AUTOINCREMENT the greatest that ever was.
    let greatestNumber: String
    /// The least number from a given one on that no row has.
    let leastFreeNumber: String
    /// Whether a private number is not used again after its row was deleted.
    let isAutoincrement: Bool

    private let quoted: String
    private let list: String
    private let terms: [String]

    init(_ table: TableSchema, entity: MergeEntity, claims: TableClaims) {
        let columns = table.storedColumns.map(\.name)
        let key = entity.key
        name = table.name
        sql = table.sql
        checks = table.checks
        self.columns = columns
        affinities = table.storedColumns.map(\.affinity)
        self.key = key
        let tied =
            claims.isIncomplete ? Array(columns.indices) : claims.items.flatMap(\.claim.columns)
        claimed = Set(key + tied)
        let collations = zip(table.storedColumns, entity.columns).map(Self.collation)
        keyCollations = key.map { entity.columns[$0].collation.name }
        hasSpellings =
            !entity.isPrivate
            && key.contains {
                entity.columns[$0].collation != .binary || table.storedColumns[$0].isUntyped
            }
        let quoted = SQLName.quoted(table.name)
        let list = columns.map(SQLName.quoted).joined(separator: ", ")
        let terms = zip(columns, collations).map { column, collation in
            SQLName.quoted(column) + (collation.map { " COLLATE " + $0 } ?? "")
        }
        self.terms = terms
        let matches = Self.matches(key, of: terms)
        let marks = columns.map { _ in "?" }.joined(separator: ", ")
        let number = SQLName.quoted(columns[key[0]])
        self.quoted = quoted
        self.list = list
        selectClaimants = (claims.items.map(\.condition) + [matches]).map {
            "SELECT \(list) FROM \(quoted) WHERE \($0)"
        }
        selectAll = "SELECT \(list) FROM \(quoted)"
        let keyNames = key.map { SQLName.quoted(columns[$0]) }
        selectInOrder =
            selectAll + " WHERE "
            + keyNames.map { $0 + " IS NOT NULL" }.joined(separator: " AND ")
            + " ORDER BY " + keyNames.map { $0 + " COLLATE BINARY" }.joined(separator: ", ")
        selectOne = "SELECT \(list) FROM \(quoted) WHERE \(matches)"
        selectKey =
            "SELECT \(key.map { SQLName.quoted(columns[$0]) }.joined(separator: ", ")) "
            + "FROM \(quoted) WHERE \(matches)"
        insert = "INSERT INTO \(quoted)(\(list)) VALUES (\(marks))"
        delete = "DELETE FROM \(quoted) WHERE \(matches)"
        leastFreeNumber = """
            SELECT CASE WHEN NOT EXISTS (SELECT 1 FROM \(quoted) WHERE \(number) = ?1) THEN ?1
            ELSE (SELECT \(number) + 1 FROM \(quoted) AS a WHERE \(number) >= ?1
            AND NOT EXISTS (SELECT 1 FROM \(quoted) AS b WHERE b.\(number) = a.\(number) + 1)
            ORDER BY \(number) LIMIT 1) END
            """
        isAutoincrement = entity.isPrivate && table.storedColumns[key[0]].isAutoincrement
        greatestNumber =
            isAutoincrement
            ? """
            SELECT max(coalesce(max(\(number)), 0), coalesce((SELECT max(seq)
            FROM sqlite_sequence WHERE name = \(SQLName.literal(table.name))), 0)) FROM \(quoted)
            """
            : "SELECT max(\(number)) FROM \(quoted)"
    }

    /// The collation by which keys compare a column, where the table declares another one.
    private static func collation(
        of column: ColumnSchema, in merged: MergeEntity.Column
    ) -> String? {
        guard let declared = Collation(column.collation), declared != merged.collation else {
            return nil
        }
        return merged.collation.name
    }

    private static func matches(_ places: [Int], of terms: [String]) -> String {
        places.map { terms[$0] + " IS ?" }.joined(separator: " AND ")
    }

    /// Reads the rows whose columns refer to a key.
    /// - Parameter collations: ``keyCollations`` of the table that they refer to.
    func select(by columns: [Int], collations: [String]) -> String {
        let matches = zip(columns, collations).enumerated().map { place, pair in
            let (column, collation) = pair
            let value = "?\(place + 1)"
            // Without an affinity it may hold a number as text.
            let matches =
                affinities[column] == .blob
                ? "IN (\(value), CAST(\(value) AS TEXT))" : "IS \(value)"
            return SQLName.quoted(self.columns[column]) + " COLLATE \(collation) \(matches)"
        }
        return "SELECT \(list) FROM \(quoted) WHERE \(matches.joined(separator: " AND "))"
    }

    /// Reads some columns of the row of a key.
    func select(_ columns: [Int]) -> String {
        "SELECT \(columns.map { SQLName.quoted(self.columns[$0]) }.joined(separator: ", ")) "
            + "FROM \(quoted) WHERE \(Self.matches(key, of: terms))"
    }

    /// Computes something of the row of a key.
    func select(computing expression: String) -> String {
        "SELECT \(expression) FROM \(quoted) WHERE \(Self.matches(key, of: terms))"
    }

    /// Writes some columns of the row of a key.
    func update(_ columns: [Int]) -> String {
        let assignments = columns.map { SQLName.quoted(self.columns[$0]) + " = ?" }
        return "UPDATE \(quoted) SET \(assignments.joined(separator: ", "))"
            + " WHERE \(Self.matches(key, of: terms))"
    }
}

/// The SQL for many rows at once, from those of a `RowStatement`.
extension MergedTable {
    /// Inserts rows of all columns, or fails, whatever the table's constraints declare for a
    /// conflict.
    func insert(from rows: String) -> String {
        let values = columns.indices.map { "c\($0 + 1)" }.joined(separator: ", ")
        return "INSERT OR FAIL INTO \(quoted)(\(list)) SELECT \(values) FROM \(rows)"
    }

    /// Reads some columns of the rows of keys, behind the position of the key, from 1.
    func select(_ columns: [Int], from rows: String) -> String {
        let values = columns.map { ", target." + SQLName.quoted(self.columns[$0]) }.joined()
        return "SELECT source.rowid\(values) FROM \(rows) AS source"
            + " CROSS JOIN \(quoted) AS target WHERE \(matches(after: 0))"
    }

    /// Reads all columns of the rows of keys, and the position of the key, from 1.
    func select(from rows: String) -> String {
        let values = columns.map { "target." + SQLName.quoted($0) + ", " }.joined()
        return "SELECT \(values)source.rowid FROM \(rows) AS source"
            + " CROSS JOIN \(quoted) AS target WHERE \(matches(after: 0))"
    }

    /// Writes some columns of the rows of keys, which follow them, or fails, whatever the table's
    /// constraints declare for a conflict.
    func update(_ columns: [Int], from rows: String) -> String {
        let values = columns.enumerated().map { position, column in
            "\(SQLName.quoted(self.columns[column])) = source.c\(position + 1)"
        }
        return "UPDATE OR FAIL \(quoted) AS target SET \(values.joined(separator: ", "))"
            + " FROM \(rows) AS source WHERE \(matches(after: columns.count))"
    }

    /// The sign makes a value of what would be a column: it compares as a parameter does.
    private func matches(after count: Int) -> String {
        key.enumerated().map { position, column in
            "target.\(terms[column]) IS +source.c\(count + position + 1)"
        }.joined(separator: " AND ")
    }
}
