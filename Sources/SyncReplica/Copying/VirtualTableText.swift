import SyncMerge
import SyncStorage
import SyncValues

/// The text of a virtual table, taken apart: only modules that keep their content in the database
/// itself, with arguments that reach nothing else.
struct VirtualTableText {
    private static let optionsByModule: [String: Set<String>] = [
        "fts5": [
            "content", "content_rowid", "tokenize", "prefix", "columnsize", "detail",
            "contentless_delete", "contentless_unindexed",
        ],
        "fts4": [
            "content", "languageid", "matchinfo", "notindexed", "order", "prefix", "tokenize",
        ],
        "fts3": ["tokenize"],
        "rtree": [], "rtree_i32": [],
    ]
    private static let tokenizers: Set<String> = [
        "unicode61", "ascii", "porter", "trigram", "simple",
    ]

    /// The module, folded.
    let module: String
    /// The table or view whose rows a full-text index is over; nil: its own; empty: of none.
    private(set) var content: String?

    /// Whether the index can be made from the rows of another table.
    var isRebuildable: Bool { content.map { !$0.isEmpty } ?? false }

    /// What may not be in a text.
    struct Refusal: Error { let reason: String }

    /// - Throws: ``Refusal``.
    init(_ object: SchemaObject) throws {
        let sql = SQLTokens(object.sql)
        let tokens = sql.tokens
        func refuse(_ reason: String) -> Refusal { Refusal(reason: reason) }
        guard tokens.count > 5, tokens[0].isWord("CREATE"), tokens[1].isWord("VIRTUAL"),
            tokens[2].isWord("TABLE"), tokens[4].isWord("USING"),
            SQLName.isEqual(SQLName.unquoted(tokens[3].text), to: object.name)
        else { throw refuse("it is not one CREATE VIRTUAL TABLE of this name") }
        guard Self.hasNoComment(sql) else { throw refuse("it has a comment") }
        module = SQLName.folded(SQLName.unquoted(tokens[5].text))
        guard let options = Self.optionsByModule[module] else {
            throw refuse(
                "the module \(module.printable(countMax: 60)) is not one of fts5, fts4, fts3, rtree"
            )
        }
        guard tokens.count > 7, tokens[6].text == "(", let close = sql.close(of: 6),
            close == tokens.count - 1
        else { throw refuse("its arguments are not in parentheses") }
        for item in sql.items(between: 6, and: close) {
            let words = tokens[item].map(\.text)
            if words.count > 2, words[1] == "=" {
                try add(option: words[0], words: Array(words[2...]), of: options)
            } else if let reason = Self.objection(toColumn: words) {
                throw refuse(reason)
            }
        }
    }

    private mutating func add(
        option name: String, words: [String], of known: Set<String>
    ) throws {
        let name = SQLName.folded(name)
        guard known.contains(name) else {
            throw Refusal(
                reason:
                    "the option \(name.printable(countMax: 60)) of \(module) is not known"
            )
        }
        guard words.count == 1 || name == "tokenize", words.allSatisfy(Self.isValue) else {
            throw Refusal(reason: "the option \(name) has no simple value")
        }
        let value = SQLName.unquoted(words[0])
        if name == "content" { content = value }
        if name == "tokenize" {
            let first = value.split(separator: " ").first.map(String.init) ?? ""
            guard Self.tokenizers.contains(SQLName.folded(SQLName.unquoted(first))) else {
                throw Refusal(
                    reason: "the tokenizer \(first.printable(countMax: 60)) is not one of SQLite's")
            }
        }
    }

    private static func objection(toColumn words: [String]) -> String? {
        var words = words[...]
        if words.first == "+" { words = words.dropFirst() }
        guard let name = words.first, isName(name), words.count <= 4,
            words.dropFirst().allSatisfy({ isName($0) })
        else { return "an argument is neither a column nor an option" }
        return nil
    }

    private static func isName(_ word: String) -> Bool {
        if let first = word.first, "\"`['".contains(first) { return word.count > 2 }
        return !word.isEmpty
            && word.unicodeScalars.allSatisfy {
                $0 == "_" || !$0.isASCII || ("a"..."z").contains($0) || ("A"..."Z").contains($0)
                    || ("0"..."9").contains($0)
            }
    }

    private static func isValue(_ word: String) -> Bool {
        isName(word) || word == "''" || word == "\"\""
    }

    /// Whether nothing but blanks is between the tokens, and after them.
    private static func hasNoComment(_ sql: SQLTokens) -> Bool {
        var end = 0
        for token in sql.tokens {
            guard sql.bytes[end..<token.range.lowerBound].allSatisfy(isBlank) else { return false }
            end = token.range.upperBound
        }
        return sql.bytes[end...].allSatisfy(isBlank)
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 32 || (9...13).contains(byte) }
}
