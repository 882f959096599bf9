import SyncStorage

/// Which stored columns an SQL expression of a table depends on, by itself or through generated
/// columns.
struct ColumnUse {
    private let places: [String: Int]
    /// The expressions of the generated columns, by folded name.
    private let generated: [String: String]

    init(_ table: TableSchema) {
        let names = table.storedColumns.map { SQLName.folded($0.name) }
        places = Dictionary(zip(names, names.indices)) { first, _ in first }
        var generated: [String: String] = [:]
        for column in table.columns where column.isGenerated {
            generated[SQLName.folded(column.name)] = column.generatedSQL ?? ""
        }
        self.generated = generated
    }

    /// The position of a stored column; nil for a generated one, and for any other name.
    subscript(name: String) -> Int? { places[SQLName.folded(name)] }

    /// The positions of the columns that an expression depends on, ascending. A word that is the
    /// name of a column counts as one, whatever it means.
    /// - Complexity: O(length of the expression, and of those of the generated columns that it
    ///   names)
    func columns(namedIn sql: String) -> [Int] {
        var columns: Set<Int> = []
        var done: Set<String> = []
        var work = [sql]
        while let sql = work.popLast() {
            for token in SQLTokens(sql).tokens {
                let name = SQLName.folded(SQLName.unquoted(token.text))
                if let place = places[name] { columns.insert(place) }
                if let expression = generated[name], done.insert(name).inserted {
                    work.append(expression)
                }
            }
        }
        return columns.sorted()
    }
}
