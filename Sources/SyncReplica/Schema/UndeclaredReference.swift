import GRDB
import SyncCore
import SyncStorage
import SyncValues

/// A column that seems to have the numbers of another table's rows, and that no foreign key
/// declares: each replica numbers the rows of that table for itself, so what the column says would
/// be right at the replica that wrote it alone. A guess, by the names and by the values.
public struct UndeclaredReference: Sendable, Hashable {
    /// The name of the table.
    public let table: String
    /// The name of its column.
    public let column: String
    /// The name of the table whose rows it seems to name.
    public let target: String

    /// Rows of a table that are looked at.
    private static let sampleMax = 1_000

    /// The columns of a database of which that can still be decided: none once its rows are stated
    /// for other replicas.
    /// - Throws: SQLite errors; `badData` for policies that cannot be read.
    /// - Complexity: O(columns · tables), and some rows of the tables
    static func all(in database: Database) throws -> [UndeclaredReference] {
        let metadata = try Metadata(database)
        guard try !metadata.isStated() else { return [] }
        let policies = try MergePolicies(storedIn: metadata)
        let tables = try EntityTable.liveTables(of: database)
        let targets = tables.filter {
            $0.isIntegerKey && policies.frame(of: $0.name).identity == .number
        }
        return try tables.flatMap { table in
            let chosen = policies.frame(of: table.name).references ?? [:]
            let known = Set(
                (table.foreignKeys.flatMap { $0.columns } + chosen.keys).map(SQLName.folded))
            return try table.storedColumns.compactMap { column -> UndeclaredReference? in
                guard column.affinity == .integer, !known.contains(SQLName.folded(column.name)),
                    !(table.isIntegerKey && SQLName.isEqual(column.name, to: table.key[0])),
                    let target = targets.first(where: { names(column.name, of: table, $0) }),
                    try seems(column.name, of: table, toName: target, in: database)
                else { return nil }
                return UndeclaredReference(
                    table: table.name, column: column.name, target: target.name)
            }
        }
    }

    /// Whether a column has the name of a row of a table, or of a parent in its own.
    private static func names(_ column: String, of table: TableSchema, _ target: TableSchema)
        -> Bool
    {
        let base = base(of: column)
        return names(base, target.name)
            || base == "parent" && SQLName.isEqual(table.name, to: target.name)
    }

    /// What a column is called without an ending: `author` for `author_id` and `authorId`.
    static func base(of column: String) -> String {
        let name = SQLName.folded(column)
        let ending = ["_id", "_fk", "_ref", "id"].first { name.hasSuffix($0) } ?? ""
        return String(name.dropLast(ending.count))
    }

    /// Whether a table has the name of several of what a word calls one: `authors` or
    /// `app_authors` of `author`.
    static func names(_ base: String, _ table: String) -> Bool {
        guard base.count > 1 else { return false }
        var names = [base, base + "s", base + "es"]
        if base.hasSuffix("y") { names.append(base.dropLast() + "ies") }
        let table = SQLName.folded(table)
        return names.contains { table == $0 || table.hasSuffix("_" + $0) }
    }

    /// Whether the values do not contradict it: most are numbers of rows. 0 often means none.
    private static func seems(
        _ column: String, of table: TableSchema, toName target: TableSchema, in database: Database
    ) throws -> Bool {
        let (name, key) = (SQLName.quoted(column), SQLName.quoted(target.key[0]))
        let row = try Row.fetchOne(
            database,
            sql: """
                SELECT count(*), total(EXISTS (
                  SELECT 1 FROM \(SQLName.quoted(target.name)) AS t WHERE t.\(key) = s.v))
                FROM (SELECT \(name) AS v FROM \(SQLName.quoted(table.name))
                  LIMIT \(sampleMax)) AS s WHERE s.v <> 0
                """)
        guard let row, let count: Int = row[0], let found: Double = row[1] else { return false }
        return found * 2 >= Double(count)
    }
}

extension Store {
    /// The columns of a tracked database that seem to be references and are not declared as such.
    /// - Throws: ``SyncError``: as ``open(_:)``.
    /// - Complexity: O(columns · tables), and some rows of the tables
    public static func undeclaredReferences(_ path: String) throws -> [UndeclaredReference] {
        let queue = try DatabaseOpener.open(path, for: .reading)
        defer { try? queue.close() }
        return try queue.read(UndeclaredReference.all(in:))
    }
}
