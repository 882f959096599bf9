import SyncStorage

/// A tracked table as merging and SQL see it: the SQL of its rows, by position of the entity's
/// columns.
struct MergedTable: Sendable {
    /// The table's name as the schema spells it.
    let name: String
    /// The CREATE statement.
    let sql: String
    /// The columns, in the order of the entity's.
    let columns: [String]
    /// Positions of the key's columns.
    let key: [Int]
    /// Columns under a UNIQUE, the key's included: a row that changes in one of them is deleted
    /// and inserted, because SQLite checks UNIQUE row by row.
    let claimed: Set<Int>

    /// Reads all rows.
    let selectAll: String
    /// Reads the row of a key.
    let selectOne: String
    /// Inserts a row.
    let insert: String
    /// Deletes the row of a key.
    let delete: String
    /// The greatest private number in use.
    let greatestNumber: String

    private let quoted: String
    private let list: String

    init(name: String, sql: String, columns: [String], key: [Int], claimed: Set<Int>) {
        self.name = name
        self.sql = sql
        self.columns = columns
        self.key = key
        self.claimed = claimed
        let quoted = SQLName.quoted(name)
        let list = columns.map(SQLName.quoted).joined(separator: ", ")
        let matches = Self.matches(key, of: columns)
        let marks = columns.map { _ in "?" }.joined(separator: ", ")
        let number = SQLName.quoted(columns[key[0]])
        self.quoted = quoted
        self.list = list
        selectAll = "SELECT \(list) FROM \(quoted)"
        selectOne = "SELECT \(list) FROM \(quoted) WHERE \(matches)"
        insert = "INSERT INTO \(quoted)(\(list)) VALUES (\(marks))"
        delete = "DELETE FROM \(quoted) WHERE \(matches)"
        greatestNumber = "SELECT max(\(number)) FROM \(quoted)"
    }

    private static func matches(_ places: [Int], of columns: [String]) -> String {
        places.map { SQLName.quoted(columns[$0]) + " IS ?" }.joined(separator: " AND ")
    }

    /// Reads the rows with given values in some columns.
    func select(by columns: [Int]) -> String {
        "SELECT \(list) FROM \(quoted) WHERE \(Self.matches(columns, of: self.columns))"
    }

    /// Writes some columns of the row of a key.
    func update(_ columns: [Int]) -> String {
        let assignments = columns.map { SQLName.quoted(self.columns[$0]) + " = ?" }
        return "UPDATE \(quoted) SET \(assignments.joined(separator: ", "))"
            + " WHERE \(Self.matches(key, of: self.columns))"
    }
}
