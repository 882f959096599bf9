import CSQLite
import SyncStorage
import SyncValues
import Synchronization

/// Evaluates the CHECKs, defaults and indexes of a schema with SQLite, on an empty database in
/// memory that has the same columns, with their affinity and collation.
///
/// `@unchecked Sendable`: the connection and its statements are used inside `lock` alone.
final class RuleDatabase: @unchecked Sendable {
    private let lock = Mutex<Void>(())
    private let connection: OpaquePointer
    private var statements: ExactMap<Statement> = [:]

    /// - Throws: when SQLite opens no database in memory.
    init() throws {
        var connection: OpaquePointer?
        let status = sqlite3_open_v2(
            ":memory:", &connection,
            SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nil)
        guard status == SQLITE_OK, let connection else {
            throw SyncError.sqlite(on: connection, status: status)
        }
        // The expressions come from the file, which is not trusted.
        _ = syncd_sqlite_confine(connection)
        self.connection = connection
    }

    deinit {
        statements = [:]
        sqlite3_close_v2(connection)
    }

    /// Creates a table with the columns of `table` and none of its constraints. Without the
    /// generated ones where these cannot be computed here: they need a function of the application.
    /// - Throws: SQLite errors.
    func add(_ table: TableSchema) throws {
        let stored = table.storedColumns.map(Self.definition)
        let generated = table.columns.filter(\.isGenerated).map(Self.definition)
        func create(_ columns: [String]) throws {
            try RawTransaction.execute(
                "CREATE TABLE \(SQLName.quoted(table.name))(\(columns.joined(separator: ", ")))",
                on: connection)
        }
        if !generated.isEmpty, (try? create(stored + generated)) != nil { return }
        try create(stored)
    }

    private static func definition(_ column: ColumnSchema) -> String {
        let collation = ["NOCASE", "RTRIM"].first { SQLName.isEqual($0, to: column.collation) }
        return SQLName.quoted(column.name) + " " + column.affinity.rawValue.uppercased()
            + (collation.map { " COLLATE " + $0 } ?? "")
            + (column.generatedSQL.map { " AS (\($0))" } ?? "")
    }

    /// What an index holds of a row.
    struct Terms: Sendable {
        fileprivate let insert: String
        fileprivate let select: String
        fileprivate let clear: String
        fileprivate let count: Int

        /// - Parameters:
        ///   - columns: the stored columns that the index depends on.
        ///   - terms: what it holds, as SQL.
        ///   - condition: which rows are in it, as SQL; nil: all.
        init(table: String, columns: [String], terms: [String], condition: String?) {
            let name = SQLName.quoted(table)
            let list = columns.map(SQLName.quoted).joined(separator: ", ")
            let marks = columns.map { _ in "?" }.joined(separator: ", ")
            clear = "DELETE FROM \(name)"
            insert =
                columns.isEmpty
                ? "INSERT INTO \(name) DEFAULT VALUES"
                : "INSERT INTO \(name)(\(list)) VALUES (\(marks))"
            select =
                "SELECT \(terms.joined(separator: ", ")) FROM \(name)"
                + (condition.map { " WHERE (\($0))" } ?? "")
            count = terms.count
        }
    }

    /// The values of an index' terms for a row; nil when the row is not in the index, and when they
    /// cannot be computed here because they need a function of the application.
    func values(of terms: Terms, _ row: [Value]) -> [Value]? {
        lock.withLock { _ in
            do {
                try run(terms.clear)
                try run(terms.insert, with: row)
                let select = try statement(terms.select)
                defer { select.reset() }
                guard try select.step() else { return nil }
                return (0..<terms.count).map { select.value(Int32($0)) }
            } catch {
                return nil
            }
        }
    }

    /// Whether a CHECK accepts a row: NULL is accepted, as in SQLite, and so is a CHECK that cannot
    /// be computed here because it needs a function of the application.
    func accepts(_ check: String, table: String, columns: [String], values: [Value]) -> Bool {
        lock.withLock { _ in
            let name = SQLName.quoted(table)
            let list = columns.map(SQLName.quoted).joined(separator: ", ")
            let marks = columns.map { _ in "?" }.joined(separator: ", ")
            do {
                try run("DELETE FROM \(name)")
                try run("INSERT INTO \(name)(\(list)) VALUES (\(marks))", with: values)
                let test = try statement("SELECT (\(check)) IS NOT FALSE FROM \(name)")
                defer { test.reset() }
                return try test.step() ? test.integer(0) != 0 : true
            } catch {
                return true
            }
        }
    }

    /// A value as a column stores it: its affinity makes a number of a text, or a text of a number.
    func stored(_ value: Value, table: String, column: String) -> Value {
        lock.withLock { _ in
            let name = SQLName.quoted(table)
            let column = SQLName.quoted(column)
            do {
                try run("DELETE FROM \(name)")
                try run("INSERT INTO \(name)(\(column)) VALUES (?)", with: [value])
                let stored = try statement("SELECT \(column) FROM \(name)")
                defer { stored.reset() }
                return try stored.step() ? stored.value(0) : value
            } catch {
                return value
            }
        }
    }

    /// The value of a DEFAULT that is a constant; NULL for anything else.
    func constant(_ sql: String?, table: String, column: String) -> Value {
        guard let sql else { return .null }
        return lock.withLock { _ in
            let name = SQLName.quoted(table)
            let column = SQLName.quoted(column)
            do {
                try run("DELETE FROM \(name)")
                try run("INSERT INTO \(name)(\(column)) VALUES ((\(sql)))")
                let value = try statement("SELECT \(column) FROM \(name)")
                defer { value.reset() }
                return try value.step() ? value.value(0) : .null
            } catch {
                return .null
            }
        }
    }

    private func run(_ sql: String, with values: [Value] = []) throws {
        let statement = try statement(sql)
        statement.bind(values)
        try statement.run()
    }

    private func statement(_ sql: String) throws -> Statement {
        if let statement = statements[sql] { return statement }
        let statement = try Statement(sql, on: connection)
        statements[sql] = statement
        return statement
    }
}
