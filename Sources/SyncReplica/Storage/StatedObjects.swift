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
    let writing: ObjectWriting
    private let statements: StatementCache
    private var rows: [Statement?]

    init(_ statements: StatementCache, schema: ReplicaSchema) throws {
        let connection = statements.connection
        self.statements = statements
        entities = schema.tables.indices.map { StatedEntity($0, of: schema) }
        rows = Array(repeating: nil, count: entities.count)
        find = try Statement(
            """
            SELECT id, uid, state, record FROM syncd_object
            WHERE key = ?1 AND shape = ?2 AND key IS NOT NULL
            """, on: connection)
        writing = try ObjectWriting(on: connection)
    }

    /// Reads the row of a key: all columns.
    /// - Throws: SQLite errors.
    func row(of entity: StatedEntity) throws -> Statement {
        if let known = rows[entity.position] { return known }
        let statement = try Statement(entity.table.selectOne, on: statements.connection)
        rows[entity.position] = statement
        return statement
    }
}
