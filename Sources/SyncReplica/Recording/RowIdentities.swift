import SyncMerge
import SyncValues

/// The identities of the rows of tables of which no object is stored yet, read from the tables
/// themselves.
///
/// The same as ``SyncMerge/IdentityAssignment`` gives them, which needs all rows at once.
///
/// Confined to its connection's queue and to one transaction.
final class RowIdentities {
    /// A row that a reference names.
    struct Target {
        let uid: ObjectUID
        /// Its key as it spells it.
        let key: [Value]
    }

    /// How far a key may refer to a key that refers to a key; more may be a circle.
    private static let depthMax = 50
    /// Rows that are referred to often are read once.
    private static let cacheMax = 10_000

    private let storage: ReplicaStorage
    private let numbered: (RowKey) throws -> ObjectUID
    /// By entity: whether its rows have numbers that do not identify.
    private let numberedEntities: [Bool]
    /// By entity: reads the key of the row of a key.
    private let selects: [(sql: String, count: Int)]
    private var cache: [RowKey: Target?] = [:]

    /// - Parameter numbered: the identity of a row whose key is a number that does not identify.
    init(_ storage: ReplicaStorage, numbered: @escaping (RowKey) throws -> ObjectUID) {
        self.storage = storage
        self.numbered = numbered
        numberedEntities = storage.schema.merge.entities.map(\.isPrivate)
        selects = storage.schema.tables.map { ($0.selectKey, $0.key.count) }
    }

    private var schema: MergeSchema { storage.schema.merge }

    /// Whether the rows of a table have numbers that do not identify.
    func isNumbered(_ entity: Int) -> Bool { numberedEntities[entity] }

    /// The identity of a row.
    /// - Throws: ``StatementObstacle/keysOfKeys``; what `numbered` throws; SQLite errors.
    /// - Complexity: O(references in the key)
    func uid(of key: RowKey) throws -> ObjectUID { try uid(of: key, depth: 0) }

    /// The identity of the row that has a key, however it spells it; nil where there is none.
    /// - Throws: as ``uid(of:)``.
    func uid(ofRowAt key: RowKey) throws -> ObjectUID? { try row(at: key, depth: 0)?.uid }

    /// A row with its references by identity, as facts have it. A reference to a row that does not
    /// exist stays a value; a private number is NULL.
    /// - Returns: also the row as a CHECK sees it.
    /// - Throws: as ``uid(of:)``.
    /// - Complexity: O(columns)
    func fields(of row: [Value], entity: Int) throws -> (stated: [Field], visible: [Field]) {
        let described = schema.entities[entity]
        var fields = row.map(Field.value)
        if described.hasPrivateNumbers { fields[described.key[0]] = .value(.null) }
        var visible = fields
        if described.sharesNumbers { visible[described.key[0]] = .value(.null) }
        for reference in described.references {
            let values = reference.columns.map { row[$0] }
            guard let target = try target(of: reference, values, depth: 0) else { continue }
            let isPrivate = numberedEntities[reference.target]
            for (part, column) in reference.columns.enumerated() {
                fields[column] = .reference(target.uid, part: part)
                visible[column] = isPrivate ? fields[column] : .value(target.key[part])
            }
        }
        return (fields, visible)
    }

    /// The row that a reference names; nil: there is none.
    /// - Parameter value: of a column of the reference.
    /// - Throws: as ``uid(of:)``.
    func target(
        of reference: MergeEntity.Reference, _ value: (_ column: Int) -> Value
    ) throws -> Target? {
        try target(of: reference, reference.columns.map(value), depth: 0)
    }

    // MARK: Keys

    private func uid(of key: RowKey, depth: Int) throws -> ObjectUID {
        if numberedEntities[key.entity] { return try numbered(key) }
        let entity = schema.entities[key.entity]
        guard depth < Self.depthMax else { throw StatementObstacle.keysOfKeys }
        var fields = key.values.map(Field.value)
        for reference in entity.references {
            let places = reference.columns.compactMap(entity.key.firstIndex)
            guard places.count == reference.columns.count,
                let target = try target(
                    of: reference, places.map { key.values[$0] }, depth: depth + 1)
            else { continue }
            for (part, place) in places.enumerated() {
                fields[place] = .reference(target.uid, part: part)
            }
        }
        return NaturalIdentity.uid(of: entity, key: fields, generation: 0)
    }

    /// The row that a reference names. Where a claim tells apart what the target's key calls equal,
    /// only the target's own spelling names it.
    private func target(
        of reference: MergeEntity.Reference, _ values: [Value], depth: Int
    ) throws -> Target? {
        if values.contains(.null) { return nil }
        let target = try row(at: schema.key(reference.target, values), depth: depth)
        return reference.isExact && target?.key != values ? nil : target
    }

    private func row(at key: RowKey, depth: Int) throws -> Target? {
        if let known = cache[key] { return known }
        let found = try spelled(key).map { spelled in
            Target(uid: try uid(of: spelled, depth: depth), key: spelled.values)
        }
        if cache.count >= Self.cacheMax { cache = [:] }
        cache[key] = .some(found)
        return found
    }

    /// The key as its row spells it. SQLite also finds rows by values that only the type of their
    /// column makes equal: facts do not call these equal.
    private func spelled(_ key: RowKey) throws -> RowKey? {
        let (sql, count) = selects[key.entity]
        let select = try storage.statements.statement(sql)
        select.bind(key.values)
        defer { select.reset() }
        guard try select.step() else { return nil }
        let values = (0..<count).map { select.value(Int32($0)) }
        let spelled = schema.key(key.entity, values)
        return spelled == key ? spelled : nil
    }
}
