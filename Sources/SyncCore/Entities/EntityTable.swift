import GRDB
import SyncStorage

/// The rows of `syncd_entity`: the tables that are or were recorded. The only type that reads or
/// writes the table.
///
/// Within the transaction that the connection is in; confined to its queue.
package struct EntityTable {
    private let connection: OpaquePointer
    private let select: SyncStorage.Statement

    static let name = "syncd_entity"

    /// The statement that makes the table.
    static let creation = """
        CREATE TABLE IF NOT EXISTS syncd_entity(
          id INTEGER PRIMARY KEY, name TEXT, layout TEXT, retired INTEGER)
        """

    /// - Throws: the error of SQLite, `refused` when the table is missing.
    package init(_ connection: OpaquePointer) throws {
        self.connection = connection
        select = try Statement(
            "SELECT id, name, layout, retired FROM syncd_entity ORDER BY id", on: connection)
    }

    /// - Throws: as ``init(_:)``.
    package init(_ database: Database) throws { try self.init(database.openConnection) }

    /// All entities there ever were, by ascending number. A column may hold a value of any type,
    /// whatever it was declared as: it is converted.
    /// - Throws: `badData` for a layout that cannot be read.
    /// - Complexity: O(entities)
    package func all() throws -> [TrackedEntity] {
        defer { select.reset() }
        var entities: [TrackedEntity] = []
        var lineages: [Int64: Int64] = [:]
        while try select.step() {
            let layout = try CaptureLayout(json: select.text(2) ?? "")
            let entity = TrackedEntity(
                id: select.integer(0), name: select.text(1) ?? "", layout: layout,
                isRetired: select.integer(3) != 0,
                lineage: layout.previous.flatMap { lineages[$0] })
            lineages[entity.id] = entity.lineage
            entities.append(entity)
        }
        return entities
    }

    /// The entities whose tables are recorded now.
    /// - Throws: as ``all()``.
    package func live() throws -> [TrackedEntity] { try all().filter { !$0.isRetired } }

    /// The tables that are recorded now, as the schema has them.
    /// - Throws: as ``all()``.
    /// - Complexity: O(schema)
    package static func liveTables(of database: Database) throws -> [TableSchema] {
        let tracked = Set(try EntityTable(database).live().map { SQLName.folded($0.name) })
        return try SchemaReader(database).tables { tracked.contains(SQLName.folded($0)) }
            .filter { $0.kind == .table }
    }

    /// The numbers of the live entities, without reading their layouts.
    /// - Throws: the error of SQLite.
    func liveNumbers() throws -> Set<Int64> {
        let live = try Statement(
            "SELECT id FROM syncd_entity WHERE coalesce(retired, 0) = 0", on: connection)
        var numbers: Set<Int64> = []
        while try live.step() { numbers.insert(live.integer(0)) }
        return numbers
    }

    /// Adds a row with the next number.
    /// - Throws: the error of SQLite.
    package func insert(name: String, layout: CaptureLayout) throws -> TrackedEntity {
        // Rows of the log refer to entities by number: none may be given twice.
        let metadata = Metadata(connection)
        let id = max(try newestNumber(), try metadata.integer(.entities)) + 1
        try Statement(
            "INSERT INTO syncd_entity(id, name, layout, retired) VALUES (?1, ?2, ?3, 0)",
            on: connection
        ).run(.integer(id), .text(name), .text(try layout.json()))
        try metadata.set(.entities, to: .integer(id))
        let lineage = try layout.previous.flatMap { previous in
            try all().first { $0.id == previous }?.lineage
        }
        return TrackedEntity(
            id: id, name: name, layout: layout, isRetired: false, lineage: lineage)
    }

    /// Marks an entity as retired: its table was dropped, is not recorded any more, or goes on
    /// under another number.
    /// - Throws: the error of SQLite.
    package func retire(_ entity: TrackedEntity) throws {
        try Statement("UPDATE syncd_entity SET retired = 1 WHERE id = ?1", on: connection)
            .run(.integer(entity.id))
    }

    /// The greatest number in the table; 0 when it is empty.
    /// - Throws: the error of SQLite.
    func newestNumber() throws -> Int64 {
        let newest = try Statement("SELECT max(id) FROM syncd_entity", on: connection)
        return try newest.step() ? max(0, newest.integer(0)) : 0
    }
}
