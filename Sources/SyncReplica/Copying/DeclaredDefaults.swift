import SyncStorage

/// The DEFAULT of each column of a CREATE TABLE, by its text: of a schema that another replica
/// states nothing is run.
struct DeclaredDefaults {
    /// The first words of what is no column.
    private static let constraints = ["CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN"]
    private static let none = "NULL"

    /// By folded name; NULL where none is declared.
    private var texts: [String: String] = [:]
    /// The names as they are written.
    private(set) var columns: [String] = []

    /// - Complexity: O(length of the text)
    init(_ sql: String) {
        let tokens = SQLTokens(sql)
        guard let open = tokens.tokens.firstIndex(where: { $0.text == "(" }),
            let close = tokens.close(of: open)
        else { return }
        for item in tokens.items(between: open, and: close) {
            guard let first = item.first else { continue }
            let name = tokens.tokens[first]
            guard !Self.constraints.contains(where: name.isWord) else { continue }
            let column = SQLName.unquoted(name.text)
            columns.append(column)
            texts[SQLName.folded(column)] = Self.defaultText(in: item, of: tokens)
        }
    }

    /// What a column shows where it was never written.
    subscript(column: String) -> String { texts[SQLName.folded(column)] ?? Self.none }

    /// Whether two texts are one default: without what SQLite does not distinguish.
    static func isEqual(_ text: String, _ other: String) -> Bool {
        TableComparing.normal(text) == TableComparing.normal(other)
    }

    private static func defaultText(in item: Range<Int>, of tokens: SQLTokens) -> String? {
        let word = item.first { tokens.tokens[$0].isWord("DEFAULT") }
        guard let word, word + 1 < item.upperBound else { return nil }
        let begin = word + 1
        var end = begin + 1
        if tokens.tokens[begin].text == "(" {
            end = (tokens.close(of: begin) ?? begin) + 1
        } else if ["+", "-"].contains(tokens.tokens[begin].text) {
            end += 1
        }
        return tokens.text(begin..<min(end, item.upperBound))
    }
}
