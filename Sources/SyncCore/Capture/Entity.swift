import GRDB
import SyncStorage
import SyncValues

/// A row of `syncd_entity`: a table that is or was recorded.
public struct Entity: Sendable, Hashable {
    /// The number: never reused in this store.
    public var id: Int64
    /// The table's name.
    public var name: String
    /// How its log rows are to be read.
    public var layout: CaptureLayout
    /// Dropped, untracked, or gone on with under another number.
    public var isRetired: Bool

    /// All entities of a store, in order of number.
    package static func all(_ db: Database) throws -> [Entity] {
        // A column may hold a value of any type, whatever it was declared as.
        let sql = """
            SELECT id, coalesce(CAST(name AS TEXT), '') AS name,
              coalesce(CAST(layout AS TEXT), '') AS layout,
              coalesce(CAST(retired AS INTEGER), 0) AS retired FROM syncd_entity ORDER BY id
            """
        return try Row.fetchAll(db, sql: sql).map { row in
            Entity(
                id: row["id"], name: row["name"], layout: try CaptureLayout(json: row["layout"]),
                isRetired: (row["retired"] as Int64) != 0)
        }
    }

    package static func live(_ db: Database) throws -> [Entity] {
        try all(db).filter { !$0.isRetired }
    }

    /// Adds a row with the next number.
    package static func insert(_ db: Database, name: String, layout: CaptureLayout) throws -> Entity
    {
        // The log knows entities, too: a number must not return while rows of it are there.
        try db.execute(
            sql: """
                INSERT INTO syncd_entity(id, name, layout, retired)
                SELECT 1 + max(coalesce((SELECT max(id) FROM syncd_entity), 0),
                  coalesce((SELECT value FROM syncd_meta WHERE key = 'entities'), 0)), ?, ?, 0
                """, arguments: [name, try layout.json()])
        let id = db.lastInsertedRowID
        try db.execute(
            sql: "INSERT OR REPLACE INTO syncd_meta(key, value) VALUES('entities', ?)",
            arguments: [id])
        return Entity(id: id, name: name, layout: layout, isRetired: false)
    }

    func retire(_ db: Database) throws {
        try db.execute(sql: "UPDATE syncd_entity SET retired = 1 WHERE id = ?", arguments: [id])
    }
}
