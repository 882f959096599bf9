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
        // A combining mark makes one character with the quote before it.
        let scalars = token.unicodeScalars
        guard let first = scalars.first, let last = scalars.last, scalars.count > 1,
            "\"`['".unicodeScalars.contains(first)
        else { return token }
        let inner = scalars.dropFirst().dropLast()
        if first == "[" { return String(inner) }
        var text = ""
        var isSecond = false
        for scalar in inner {
            isSecond = scalar == last && !isSecond
            if scalar != last || isSecond { text.unicodeScalars.append(scalar) }
        }
        return text
    }

    /// `text` as a string literal.
    package static func literal(_ text: String) -> String { Value.text(text).description }

    /// Equal as SQLite compares names, where no two are canonically equivalent: ASCII letters fold,
    /// all others do not.
    package static func isEqual(_ name: String, to other: String) -> Bool {
        name == other || folded(name) == folded(other)
    }

    /// Equal for SQLite itself: ``isEqual(_:to:)`` takes canonically equivalent names for equal,
    /// too, of which no schema may have two (``AmbiguousNames``).
    package static func isSpelled(_ name: String, as other: String) -> Bool {
        folded(name).hasBytes(of: folded(other))
    }

    /// The form under which names of tables and columns are equal.
    package static func folded(_ name: String) -> String {
        let upper = UInt8(ascii: "A")...UInt8(ascii: "Z")
        guard name.utf8.contains(where: upper.contains) else { return name }
        return String(
            decoding: name.utf8.map { upper.contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
    }

    /// The name belongs to syncd.
    package static func isOwn(_ name: String) -> Bool {
        folded(name).utf8.starts(with: ownPrefix.utf8)
    }
}
