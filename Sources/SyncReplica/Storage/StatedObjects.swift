import SyncMerge
import SyncStorage
import SyncValues

/// The statements of ``LocalLane`` on `syncd_object` and on the tables, and what it knows of the
/// entities.
///
/// Confined to its connection's queue; valid for one schema.
final class StatedObjects {
    /// By position; nil: none of the entity's rows can be stated by the lane.
    let entities: [StatedEntity?]
    /// Reads the object of the row of a key: id, uid, state, record. Parameters: key, shape.
    let find: Statement
    /// Reads the objects of the rows of keys, from key and shape: id, uid, state, record, and the
    /// position of the key, from 1; the others are NULL where there is none.
    let findAll: RowStatement
    let writing: ObjectWriting
    private let statements: StatementCache
    /// By entity.
    private var row: [Statement?]
    private var rows: [RowStatement?]

    init(_ statements: StatementCache, schema: ReplicaSchema) throws {
        let connection = statements.connection
        self.statements = statements
        entities = schema.tables.indices.map { StatedEntity($0, of: schema) }
        row = Array(repeating: nil, count: entities.count)
        rows = Array(repeating: nil, count: entities.count)
        find = try Statement(
            """
            SELECT id, uid, state, record FROM syncd_object
            WHERE key = ?1 AND shape = ?2 AND key IS NOT NULL
            """, on: connection)
        findAll = try RowStatement(width: 2, on: connection) { rows in
            """
            SELECT id, uid, state, record, source.rowid FROM \(rows) AS source
            LEFT JOIN syncd_object ON key = +c1 AND shape = +c2 AND key IS NOT NULL
            """
        }
        writing = try ObjectWriting(on: connection)
    }

    /// Reads the row of a key: all columns.
    /// - Throws: SQLite errors.
    func row(of entity: StatedEntity) throws -> Statement {
        if let known = row[entity.position] { return known }
        let statement = try Statement(entity.table.selectOne, on: statements.connection)
        row[entity.position] = statement
        return statement
    }

    /// Reads the rows of keys that are there: all columns, and the position of the key, from 1.
    /// - Throws: SQLite errors.
    func rows(of entity: StatedEntity) throws -> RowStatement {
        if let known = rows[entity.position] { return known }
        let statement = try RowStatement(
            width: entity.key.count, on: statements.connection, entity.table.select(from:))
        rows[entity.position] = statement
        return statement
    }
}
