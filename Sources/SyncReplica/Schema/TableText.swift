import SyncStorage

/// The text of a CREATE TABLE, of which columns are taken out and to which others are added.
struct TableText {
    private(set) var sql: String
    /// The names of the columns, in order.
    private(set) var columns: [String]

    /// - Returns: nil where the columns are not found in the text.
    init?(_ sql: String) {
        guard let parts = Parts(sql) else { return nil }
        self.sql = sql
        columns = parts.columns.map(\.name)
    }

    private struct Parts {
        let tokens: SQLTokens
        let columns: [(name: String, item: Range<Int>)]

        init?(_ sql: String) {
            tokens = SQLTokens(sql)
            guard let open = tokens.tokens.firstIndex(where: { $0.text == "(" }),
                let close = tokens.close(of: open)
            else { return nil }
            let tokens = tokens
            columns = tokens.items(between: open, and: close).compactMap { item in
                guard let first = item.first else { return nil }
                let text = tokens.tokens[first].text
                let isConstraint = TableText.constraints.contains { $0 == text.uppercased() }
                return isConstraint ? nil : (SQLName.unquoted(text), item)
            }
            guard !columns.isEmpty else { return nil }
        }

        func item(of column: String) -> Range<Int>? {
            columns.first { SQLName.isEqual($0.name, to: column) }?.item
        }
    }

    private static let constraints = ["CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN"]
    /// Words in the definition of a column that SQLite adds to no table, or to no table with rows.
    private static let refused = [
        "PRIMARY", "UNIQUE", "GENERATED", "AS", "CURRENT_TIME", "CURRENT_DATE", "CURRENT_TIMESTAMP",
    ]

    /// Adds a column after the others, defined as in another text.
    /// - Returns: false for one that SQLite would not add to a table with rows.
    mutating func add(_ column: String, of other: TableText) -> Bool {
        guard let parts = Parts(sql), let others = Parts(other.sql),
            let item = others.item(of: column), parts.item(of: column) == nil,
            let last = parts.columns.last
        else { return false }
        let words = others.tokens.tokens[item].map { $0.text.uppercased() }
        let isRefused = words.contains { Self.refused.contains($0) }
        let isComputed = zip(words, words.dropFirst()).contains { $0 == "DEFAULT" && $1 == "(" }
        let isRequired = zip(words, words.dropFirst()).contains { $0 == "NOT" && $1 == "NULL" }
        guard !isRefused, !isComputed, !isRequired || words.contains("DEFAULT") else {
            return false
        }
        let end = parts.tokens.tokens[last.item.upperBound - 1].range.upperBound
        let bytes = parts.tokens.bytes
        sql =
            String(decoding: bytes[..<end], as: UTF8.self) + ", " + others.tokens.text(item)
            + String(decoding: bytes[end...], as: UTF8.self)
        columns.append(column)
        return true
    }

    /// Takes out a column.
    /// - Returns: false for the only one, and for one that something else in the text names.
    mutating func remove(_ column: String) -> Bool {
        guard let parts = Parts(sql), parts.columns.count > 1,
            let place = parts.columns.firstIndex(where: { SQLName.isEqual($0.name, to: column) })
        else { return false }
        let tokens = parts.tokens.tokens
        let named = tokens.filter { SQLName.isEqual(SQLName.unquoted($0.text), to: column) }
        guard named.count == 1 else { return false }
        let item = parts.columns[place].item
        // With the comma before it; the first one with the comma after it.
        let isFirst = tokens[item.lowerBound - 1].text == "("
        let start = isFirst ? item.lowerBound : item.lowerBound - 1
        let end = isFirst ? item.upperBound : item.upperBound - 1
        let bytes = parts.tokens.bytes
        let tail = isFirst ? tokens[end + 1].range.lowerBound : tokens[end].range.upperBound
        sql =
            String(decoding: bytes[..<tokens[start].range.lowerBound], as: UTF8.self)
            + String(decoding: bytes[tail...], as: UTF8.self)
        columns.remove(at: place)
        return true
    }
}
