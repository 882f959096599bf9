import SyncCore
import SyncStorage

/// Parts of SQL text.
enum SQLText {
    /// A name in double quotes.
    static func quoted(_ name: String) -> String { SQLName.quoted(name) }

    /// Names in double quotes, separated by commas.
    static func list(_ names: [String]) -> String { names.map(quoted).joined(separator: ", ") }

    /// `count` question marks, separated by commas.
    static func marks(_ count: Int) -> String {
        Array(repeating: "?", count: count).joined(separator: ", ")
    }
}
