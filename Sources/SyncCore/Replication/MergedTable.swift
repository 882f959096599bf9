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

    private var quoted: String { SQLName.quoted(name) }
    private var list: String { columns.map(SQLName.quoted).joined(separator: ", ") }

    private func matches(_ columns: [Int]) -> String {
        columns.map { SQLName.quoted(self.columns[$0]) + " IS ?" }.joined(separator: " AND ")
    }

    /// Reads all rows.
    var selectAll: String { "SELECT \(list) FROM \(quoted)" }

    /// Reads the row of a key.
    var selectOne: String { "SELECT \(list) FROM \(quoted) WHERE \(matches(key))" }

    /// Reads the rows with given values in some columns.
    func select(by columns: [Int]) -> String {
        "SELECT \(list) FROM \(quoted) WHERE \(matches(columns))"
    }

    /// Inserts a row.
    var insert: String {
        let marks = columns.map { _ in "?" }.joined(separator: ", ")
        return "INSERT INTO \(quoted)(\(list)) VALUES (\(marks))"
    }

    /// Deletes the row of a key.
    var delete: String { "DELETE FROM \(quoted) WHERE \(matches(key))" }

    /// Writes some columns of the row of a key.
    func update(_ columns: [Int]) -> String {
        let assignments = columns.map { SQLName.quoted(self.columns[$0]) + " = ?" }
        return "UPDATE \(quoted) SET \(assignments.joined(separator: ", ")) WHERE \(matches(key))"
    }

    /// The greatest private number in use.
    var greatestNumber: String { "SELECT max(\(SQLName.quoted(columns[key[0]]))) FROM \(quoted)" }
}
