import SyncCore

/// Pieces of SQL text.
enum SQLText {
    /// A name in double quotes.
    static func quoted(_ name: String) -> String {
        "\""
            + name.split(separator: "\"", omittingEmptySubsequences: false)
            .joined(separator: "\"\"") + "\""
    }

    /// Names in double quotes, between commas.
    static func list(_ names: [String]) -> String { names.map(quoted).joined(separator: ", ") }

    /// So many question marks, between commas.
    static func marks(_ count: Int) -> String {
        Array(repeating: "?", count: count).joined(separator: ", ")
    }
}
