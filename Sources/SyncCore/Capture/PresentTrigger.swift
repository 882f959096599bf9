import GRDB
import SyncStorage

/// A capture trigger that the database has now.
struct PresentTrigger: Equatable {
    var name: String
    /// The number in its name.
    var entity: Int64
    /// The table it is on: follows renames.
    var table: String
    var sql: String
    /// Its place in the schema: later triggers fire first.
    var position: Int64

    /// The number in the name of a capture trigger, `syncd_<number>_<letter>`; nil for any other.
    static func number(in name: String) -> Int64? {
        let parts = name.split(separator: "_", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0] == "syncd", parts[2].count == 1,
            parts[1].utf8.allSatisfy({ (48...57).contains($0) }),
            let letter = parts[2].first, events[letter] != nil
        else { return nil }
        return Int64(parts[1])
    }

    /// The events by the letter at the end of the name.
    private static let events: [Character: String] = [
        "i": "AFTER INSERT", "g": "BEFORE INSERT", "u": "AFTER UPDATE", "k": "AFTER UPDATE",
        "h": "BEFORE UPDATE", "r": "AFTER UPDATE", "d": "AFTER DELETE", "b": "BEFORE DELETE",
        "s": "AFTER DELETE", PlaceholderTrigger.letter: "AFTER UPDATE OF",
    ]

    /// What every capture trigger has, also when the log and the guard were renamed: SQLite then
    /// writes the new names into its text.
    private static let shapes = [
        PlaceholderTrigger.body, LogTable.name, "syncd_guard", "(op, m, ts, pk", "(op, ts, pk",
        "(e, i, ts, pk",
    ]

    /// Capture made it: it has a name and the event of one, and writes to the log or to the guard.
    static func isOwn(name: String, sql: String) -> Bool {
        guard number(in: name) != nil, let event = name.last.flatMap({ events[$0] }) else {
            return false
        }
        return sql.contains(event) && shapes.contains(where: sql.contains)
    }

    /// Whether capture made it: another program can create a trigger with such a name.
    var isOwn: Bool { Self.isOwn(name: name, sql: sql) }

    /// Every trigger with the name of a capture trigger; one of a live entity counts even when its
    /// text was changed.
    static func all(_ db: Database) throws -> [PresentTrigger] {
        try Row.fetchAll(
            db,
            sql: """
                SELECT name, tbl_name, sql, rowid AS position FROM main.sqlite_schema
                WHERE type = 'trigger' AND name GLOB 'syncd_[0-9]*_[a-z]' ORDER BY rowid
                """
        ).compactMap { row in
            let name: String = row["name"]
            let sql: String = row["sql"] as String? ?? ""
            guard let number = number(in: name) else { return nil }
            return PresentTrigger(
                name: name, entity: number, table: row["tbl_name"], sql: sql,
                position: row["position"])
        }
    }
}
