import GRDB
import SyncStorage

/// A capture trigger that the database has now.
struct PresentTrigger: Equatable {
    var name: String
    /// The number in its name.
    var entity: Int64
    /// The letter in its name.
    var letter: Character
    /// The table it is on: follows renames.
    var table: String
    var sql: String
    /// Its place in the schema: later triggers fire first.
    var position: Int64

    /// The number in the name of a capture trigger; nil for any other name.
    static func number(in name: String) -> Int64? {
        TriggerName(name).flatMap { events[$0.letter] == nil ? nil : $0.entity }
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
        "(e, i, ts, pk", CaptureTriggers.now,
    ]

    /// Capture made it: it has a name and the event of one, and writes to the log or to the guard.
    static func isOwn(name: String, sql: String) -> Bool {
        guard let letter = TriggerName(name)?.letter, let event = events[letter] else {
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
                WHERE type = 'trigger' AND name GLOB ? ORDER BY rowid
                """, arguments: [TriggerName.pattern]
        ).compactMap { row in
            let name: String = row["name"]
            let sql: String = row["sql"] as String? ?? ""
            guard let parts = TriggerName(name), events[parts.letter] != nil else { return nil }
            return PresentTrigger(
                name: name, entity: parts.entity, letter: parts.letter, table: row["tbl_name"],
                sql: sql, position: row["position"])
        }
    }
}
