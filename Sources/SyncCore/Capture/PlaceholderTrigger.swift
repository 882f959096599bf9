import SyncStorage

/// The trigger that keeps the place of an entity's capture triggers while a migration of another
/// program runs.
///
/// It never fires. SQLite writes the new name into it when the table or a column is renamed, and
/// does not look at it when a column is dropped: only the expressions of a trigger are checked then
/// (https://www.sqlite.org/lang_altertable.html#alter_table_drop_column), not the names after
/// UPDATE OF. So it tells afterwards which column is which, and is no obstacle.
struct PlaceholderTrigger {
    /// The letter at the end of its name.
    static let letter: Character = "p"

    /// The body by which it is recognised.
    static let body = "WHEN 0 BEGIN SELECT 1; END"

    let name: String
    let sql: String

    init(_ entity: TrackedEntity) {
        name = TriggerName(entity: entity.id, letter: Self.letter).short
        let columns = entity.columnNames.map(SQLName.quoted).joined(separator: ", ")
        sql =
            "CREATE TRIGGER \(name) AFTER UPDATE OF \(columns) ON "
            + "\(SQLName.quoted(entity.name)) \(Self.body)"
    }

    /// The present names of the columns that it was made for; nil for a text of another kind.
    static func columns(in sql: String) -> [String]? {
        let tokens = SQLTokens(sql).tokens
        guard let first = tokens.firstIndex(where: { $0.isWord("OF") }),
            let end = tokens[first...].firstIndex(where: { $0.isWord("ON") })
        else { return nil }
        return tokens[(first + 1)..<end].map(\.text).filter { $0 != "," }.map { token in
            guard token.hasPrefix("\""), token.count > 1 else { return token }
            return String(token.dropFirst().dropLast().replacing("\"\"", with: "\""))
        }
    }
}
