import SyncMerge
import SyncStorage

/// The statements of the fast lane on `syncd_object`, and what it knows of the entities.
///
/// Confined to its connection's queue; valid for one schema.
final class LaneStorage {
    /// By position; nil: none of the entity's objects can be taken.
    let entities: [LaneEntity?]
    /// Reads an object by its identity: id, shape, key, number, state, place, record.
    let find: Statement
    /// Reads where an object's row is: shape, key, state.
    let findTarget: Statement
    /// Stores a new object: uid, shape, key, number, place, record.
    let insert: Statement
    /// Stores place and record of the object of an id.
    let update: Statement
    /// Whether text is stored as it is bound: else what is not well-formed is converted.
    let keepsText: Bool
    private let statements: StatementCache
    /// By entity: inserts a row.
    private var inserts: [Statement?]
    private var access: [Cells: CellAccess] = [:]
    /// What was asked for last: nearly always the next one, too.
    private var latest: (cells: Cells, access: CellAccess)?
    /// Beyond this they are found again.
    private static let knownMax = 500

    private struct Cells: Hashable {
        let entity: Int
        let cells: PositionSet
    }

    /// The statements for some cells of the rows of a table.
    final class CellAccess {
        /// Reads their columns from the row of a key.
        let read: Statement
        /// Writes their columns, then the key, in the order of the cells; fails where another row
        /// is in its way, whatever the table declares.
        let write: Statement
        /// Those of its parameters that are columns: the key follows.
        let columnCount: Int

        fileprivate init(read: Statement, write: Statement, columnCount: Int) {
            self.read = read
            self.write = write
            self.columnCount = columnCount
        }
    }

    init(_ statements: StatementCache, schema: ReplicaSchema) throws {
        let connection = statements.connection
        entities = schema.tables.indices.map { LaneEntity($0, of: schema) }
        self.statements = statements
        inserts = Array(repeating: nil, count: entities.count)
        let encoding = try Statement("PRAGMA main.encoding", on: connection)
        keepsText = try encoding.step() && encoding.text(0) == "UTF-8"
        encoding.reset()
        find = try Statement(
            "SELECT id, shape, key, number, state, place, record FROM syncd_object WHERE uid = ?1",
            on: connection)
        findTarget = try Statement(
            "SELECT shape, key, state FROM syncd_object WHERE uid = ?1", on: connection)
        insert = try Statement(
            """
            INSERT INTO syncd_object(uid, shape, key, number, state, place, record)
            VALUES (?1, ?2, ?3, ?4, \(StoredObject.State.plain.rawValue), ?5, ?6)
            """, on: connection)
        update = try Statement(
            "UPDATE syncd_object SET place = ?2, record = ?3 WHERE id = ?1",
            on: connection)
    }

    /// Inserts a row of an entity; fails where another row is in its way, whatever the table
    /// declares.
    func insert(into entity: LaneEntity) throws -> Statement {
        if let known = inserts[entity.position] { return known }
        let statement = try statements.statement(entity.table.insertOrFail)
        inserts[entity.position] = statement
        return statement
    }

    /// The greatest private number that a row of an entity has; 0 where there is none.
    /// - Complexity: O(log rows)
    func greatestNumber(of entity: Int) throws -> Int64 {
        guard let table = entities[entity]?.table else { return .max }
        let select = try statements.statement(table.greatestNumber)
        defer { select.reset() }
        return try select.step() ? select.integer(0) : 0
    }

    /// The statements for some cells of an entity's rows.
    func access(_ cells: PositionSet, of entity: LaneEntity) throws -> CellAccess {
        let key = Cells(entity: entity.position, cells: cells)
        if let latest, latest.cells == key { return latest.access }
        let found = try access[key] ?? makeAccess(key, entity)
        latest = (key, found)
        return found
    }

    private func makeAccess(_ key: Cells, _ entity: LaneEntity) throws -> CellAccess {
        if access.count >= Self.knownMax { access = [:] }
        let columns = entity.columns(of: key.cells)
        let made = CellAccess(
            read: try statements.statement(entity.table.select(columns)),
            write: try statements.statement(entity.table.updateOrFail(columns)),
            columnCount: columns.count)
        access[key] = made
        return made
    }
}
