import SyncMerge
import SyncStorage
import SyncValues

/// The statements of the fast lane on `syncd_object`, and what it knows of the entities.
///
/// Confined to its connection's queue; valid for one schema.
final class LaneStorage {
    /// By position; nil: none of the entity's objects can be taken.
    let entities: [LaneEntity?]
    /// Reads objects by their identities: id, shape, key, number, state, place, record; all NULL
    /// where there is none.
    let find: RowStatement
    /// Reads where an object's row is: shape, key, state.
    let findTarget: Statement
    let writing: ObjectWriting
    /// Whether text is stored as it is bound: else what is not well-formed is converted.
    let keepsText: Bool
    private let statements: StatementCache
    /// By entity: inserts rows.
    private var inserts: [RowStatement?]
    private var access: [Cells: CellAccess] = [:]
    /// Beyond this they are found again.
    private static let knownMax = 500

    /// Some cells of an entity.
    struct Cells: Hashable {
        let entity: Int
        let cells: PositionSet
    }

    /// The statements for some cells of the rows of a table.
    final class CellAccess {
        /// Reads their columns from the rows of keys, behind the position of the key, from 1.
        let read: RowStatement
        /// Writes their columns, then the key, in the order of the cells; fails where another row
        /// is in its way, whatever the table declares.
        let write: RowStatement
        /// Those of its columns before the key.
        let columnCount: Int

        fileprivate init(read: RowStatement, write: RowStatement, columnCount: Int) {
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
        find = try RowStatement(width: 1, on: connection) { rows in
            """
            SELECT id, shape, key, number, state, place, record
            FROM \(rows) LEFT JOIN syncd_object ON uid = +c1
            """
        }
        findTarget = try Statement(
            "SELECT shape, key, state FROM syncd_object WHERE uid = ?1", on: connection)
        writing = try ObjectWriting(on: connection)
    }

    /// Inserts rows of an entity; fails where another row is in its way, whatever the table
    /// declares.
    func insert(into entity: LaneEntity) throws -> RowStatement {
        if let known = inserts[entity.position] { return known }
        let statement = try RowStatement(
            width: entity.table.columns.count, on: statements.connection,
            entity.table.insert(from:))
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
    func access(_ cells: Cells) throws -> CellAccess {
        if let known = access[cells] { return known }
        guard let entity = entities[cells.entity] else {
            throw SyncError(.internalFault, "the lane has no statements for a table")
        }
        if access.count >= Self.knownMax { access = [:] }
        let columns = entity.columns(of: cells.cells)
        let connection = statements.connection
        let made = CellAccess(
            read: try RowStatement(width: entity.key.count, on: connection) {
                entity.table.select(columns, from: $0)
            },
            write: try RowStatement(width: columns.count + entity.key.count, on: connection) {
                entity.table.update(columns, from: $0)
            },
            columnCount: columns.count)
        access[cells] = made
        return made
    }

    /// Forgets the rows that were to be written.
    func removeRows() {
        writing.removeRows()
        for statement in inserts { statement?.removeRows() }
        for known in access.values { known.write.removeRows() }
    }
}
