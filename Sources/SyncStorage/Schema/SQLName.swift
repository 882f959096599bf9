import SyncValues

/// Names of the user's schema inside SQL that we generate.
package enum SQLName {
    /// What every object that syncd adds to a database begins with.
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

    /// `text` as a string literal.
    package static func literal(_ text: String) -> String { Value.text(text).description }

    /// Equal as SQLite compares names: ASCII letters fold, all others do not.
    package static func equal(_ left: String, _ right: String) -> Bool {
        left == right || folded(left) == folded(right)
    }

    /// The form under which names of tables and columns are equal.
    package static func folded(_ name: String) -> String {
        String(
            decoding: name.utf8.map { (65...90).contains($0) ? $0 + 32 : $0 }, as: UTF8.self)
    }

    /// The name belongs to syncd.
    package static func isOwn(_ name: String) -> Bool { folded(name).hasPrefix(ownPrefix) }
}
