import SyncValues

/// Names of the user's schema in generated SQL.
package enum SQLName {
    /// The prefix of every object that syncd adds to a database.
    static let ownPrefix = "syncd_"

    /// `name` as a quoted identifier. Every name of the user is quoted, always: a keyword, a space
    /// or a quote in it is then no special case, and SQLite rewrites it in place on RENAME.
    package static func quoted(_ name: String) -> String {
        var text = "\""
        for character in name.unicodeScalars {
            if character == "\"" { text += "\"" }
            text.unicodeScalars.append(character)
        }
        return text + "\""
    }

    /// A name of an SQL text without its quotes.
    package static func unquoted(_ token: String) -> String {
        guard let first = token.first, let last = token.last, "\"`['".contains(first),
            token.count > 1
        else { return token }
        let inner = token.dropFirst().dropLast()
        if first == "[" { return String(inner) }
        return inner.split(separator: "\(last)\(last)", omittingEmptySubsequences: false)
            .joined(separator: String(last))
    }

    /// `text` as a string literal.
    package static func literal(_ text: String) -> String { Value.text(text).description }

    /// Equal as SQLite compares names: ASCII letters fold, all others do not.
    package static func isEqual(_ name: String, to other: String) -> Bool {
        name == other || folded(name) == folded(other)
    }

    /// The form under which names of tables and columns are equal.
    package static func folded(_ name: String) -> String {
        let upper = UInt8(ascii: "A")...UInt8(ascii: "Z")
        guard name.utf8.contains(where: upper.contains) else { return name }
        return String(
            decoding: name.utf8.map { upper.contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
    }

    /// The name belongs to syncd.
    package static func isOwn(_ name: String) -> Bool { folded(name).hasPrefix(ownPrefix) }
}
