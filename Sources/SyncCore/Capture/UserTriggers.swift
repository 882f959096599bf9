import GRDB
import SyncStorage

/// What the user's own triggers mean for ours.
enum UserTriggers {
    /// A trigger of the user may write to `table`: its body names it. Errs on the side of yes.
    static func write(_ db: Database, to table: String) throws -> Bool {
        try bodies(db).contains { body in
            SQLTokens(body).tokens.contains { unquoted($0.text) == SQLName.folded(table) }
        }
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
