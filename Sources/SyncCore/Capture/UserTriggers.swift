import GRDB
import SyncStorage

/// What the user's own triggers mean for ours.
enum UserTriggers {
    /// Every word in the bodies of the user's triggers, folded and without quotes: a trigger may
    /// write to the tables among them.
    /// - Throws: the error of SQLite.
    /// - Complexity: O(text of the triggers)
    static func names(_ db: Database) throws -> Set<String> {
        Set(try bodies(db).flatMap { SQLTokens($0).tokens.map { unquoted($0.text) } })
    }

    /// The SQL after BEGIN of every trigger that is not ours.
    private static func bodies(_ db: Database) throws -> [String] {
        try String.fetchAll(
            db,
            sql: """
                SELECT sql FROM main.sqlite_schema
                WHERE type = 'trigger' AND name NOT LIKE 'syncd\\_%' ESCAPE '\\'
                """
        ).map { sql in
            let tokens = SQLTokens(sql)
            let begin = tokens.tokens.firstIndex { $0.isWord("BEGIN") } ?? 0
            return tokens.text(begin..<tokens.tokens.count)
        }
    }

    private static func unquoted(_ token: String) -> String {
        guard let first = token.first, "\"`['".contains(first), token.count > 1 else {
            return SQLName.folded(token)
        }
        let doubled = "\(first)\(first)"
        let inner = token.dropFirst().dropLast()
        return SQLName.folded(
            inner.split(separator: doubled, omittingEmptySubsequences: false)
                .joined(separator: String(first)))
    }
}
