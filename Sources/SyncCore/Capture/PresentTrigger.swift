import GRDB

/// A capture trigger as it stands in the database now.
struct PresentTrigger: Equatable {
    var name: String
    /// The number in its name.
    var entity: Int64
    /// The table it is on: follows renames.
    var table: String
    var sql: String
    /// Its place in the schema: later triggers fire first.
    var position: Int64

    /// Every trigger named `syncd_<number>_<letter>`.
    static func all(_ db: Database) throws -> [PresentTrigger] {
        try Row.fetchAll(
            db,
            sql: """
                SELECT name, tbl_name, sql, rowid AS position FROM main.sqlite_schema
                WHERE type = 'trigger' AND name GLOB 'syncd_[0-9]*_[a-z]' ORDER BY rowid
                """
        ).compactMap { row in
            let name: String = row["name"]
            guard let number = Int64(name.split(separator: "_")[1]) else { return nil }
            return PresentTrigger(
                name: name, entity: number, table: row["tbl_name"], sql: row["sql"],
                position: row["position"])
        }
    }
}
