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
    private let statements: StatementCache
    private var updates: [Cells: Statement] = [:]
    private var reads: [Cells: Statement] = [:]
    /// Beyond this they are found again.
    private static let knownMax = 500

    private struct Cells: Hashable {
        let entity: Int
        let cells: CellSet
    }

    init(_ statements: StatementCache, schema: ReplicaSchema) throws {
        let connection = statements.connection
        entities = schema.tables.indices.map { LaneEntity($0, of: schema) }
        self.statements = statements
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
        try statements.statement(entity.table.insertOrFail)
    }

    /// The greatest private number that a row of an entity has; 0 where there is none.
    /// - Complexity: O(log rows)
    func greatestNumber(of entity: Int) throws -> Int64 {
        guard let table = entities[entity]?.table else { return .max }
        let select = try statements.statement(table.greatestNumber)
        defer { select.reset() }
        return try select.step() ? select.integer(0) : 0
    }

    /// Writes the columns of some cells, then the key, in the order of the columns.
    func update(_ cells: CellSet, of entity: LaneEntity) throws -> Statement {
        try statement(cells, of: entity, known: &updates) { $0.updateOrFail($1) }
    }

    /// Reads the columns of some cells of the row of a key.
    func select(_ cells: CellSet, of entity: LaneEntity) throws -> Statement {
        try statement(cells, of: entity, known: &reads) { $0.select($1) }
    }

    private func statement(
        _ cells: CellSet, of entity: LaneEntity, known: inout [Cells: Statement],
        text: (MergedTable, [Int]) -> String
    ) throws -> Statement {
        let key = Cells(entity: entity.position, cells: cells)
        if let statement = known[key] { return statement }
        if known.count >= Self.knownMax { known = [:] }
        let statement = try statements.statement(text(entity.table, entity.columns(of: cells)))
        known[key] = statement
        return statement
    }
}
