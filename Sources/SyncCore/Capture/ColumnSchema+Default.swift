import SyncStorage

/// The values of NEW that a BEFORE trigger does not see yet.
extension ColumnSchema {
    /// What the column will be, as a BEFORE trigger can say it: where a NULL is not allowed,
    /// REPLACE puts the default in its place, after these triggers have run
    /// (<https://www.sqlite.org/lang_conflict.html>).
    var inserted: String {
        let new = "NEW.\(SQLName.quoted(name))"
        guard isNotNull, let value = defaultExpression else { return new }
        return "ifnull(\(new), \(value))"
    }

    /// The default as an expression; nil when there is none. A bare or quoted name as default is a
    /// text for SQLite, and would be a column elsewhere.
    private var defaultExpression: String? {
        guard let text = defaultSQL, let first = text.first else { return nil }
        if let end = Self.quotes[first], text.count > 1, text.last == end {
            let inner = String(text.dropFirst().dropLast())
            return SQLName.literal(inner.replacing("\(end)\(end)", with: "\(end)"))
        }
        let isName =
            (first.isLetter || first == "_")
            && text.allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" || $0 == "$" }
        guard isName, !Self.words.contains(text.uppercased()) else { return "(\(text))" }
        return SQLName.literal(text)
    }

    private static let quotes: [Character: Character] = ["\"": "\"", "`": "`", "[": "]"]
    private static let words: Set<String> = [
        "NULL", "TRUE", "FALSE", "CURRENT_TIME", "CURRENT_DATE", "CURRENT_TIMESTAMP",
    ]
}
