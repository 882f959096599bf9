import SyncCore
import SyncMerge

/// A column that the replicas of a simulation get at different moments, and the writes into it:
/// replicas without the column keep its values, and show them when they have it.
struct SchemaGrowth {
    private static let column = "grown"

    private let entity: MergeEntity
    private var random: SeededRandom
    /// Whether another program adds the column, with plain SQL.
    private var isForeign: SeededRandom
    /// The files that have the column.
    private var grown: Set<String> = []
    private var count = 0

    /// Draws the table that gets the column.
    /// - Returns: nil: the schema of this seed stays as it is.
    init?(_ schema: SimulatedSchema, seed: UInt64) {
        var random = SeededRandom(seed: seed &+ 0x9_0000_0000)
        guard random.chance(0.3) else { return nil }
        entity = random.pick(schema.merge.entities)
        self.random = random
        isForeign = SeededRandom(seed: seed &+ 0xC_0000_0000)
    }

    /// Adds the column to one of the replicas, or writes into it, or does nothing.
    mutating func step(_ stores: [SimulatedStore]) throws {
        guard random.chance(0.4) else { return }
        let store = random.pick(stores)
        guard grown.contains(store.path) else { return try grow(store) }
        count += 1
        let text = random.chance(0.15) ? Value.null : .text("grown \(count)")
        let rows = try store.database.run("SELECT count(*) FROM \(entity.name)")
        guard case .integer(let all)? = rows?[0][0], all > 0 else { return }
        let keys = entity.key.map { entity.columns[$0].name }
        let list = keys.joined(separator: ", ")
        let key = try store.database.run(
            "SELECT \(list) FROM \(entity.name) ORDER BY \(list) LIMIT 1 OFFSET ?",
            with: [.integer(Int64(random.below(Int(all))))])
        guard let key = key?.first else { return }
        let matches = keys.map { "\($0) IS ?" }.joined(separator: " AND ")
        try store.database.run("BEGIN IMMEDIATE")
        try store.database.run(
            "UPDATE \(entity.name) SET \(Self.column) = ? WHERE \(matches)", with: [text] + key)
        try store.willCommit()
        try store.database.run("COMMIT")
        try store.remember()
    }

    /// Every replica has the column from now on.
    mutating func finish(_ stores: [SimulatedStore]) throws {
        for store in stores where !grown.contains(store.path) { try grow(store) }
    }

    /// The column of each object.
    func values(_ store: SimulatedStore) throws -> [ObjectUID: Value] {
        let names = try store.names()
        let keys = entity.key.map { entity.columns[$0].name }.joined(separator: ", ")
        var values: [ObjectUID: Value] = [:]
        for (key, name) in names
        where store.schema.merge.entities[key.entity].name == entity.name {
            let matches = entity.key.map { "\(entity.columns[$0].name) IS ?" }
            let row = try store.database.run(
                "SELECT \(Self.column), \(keys) FROM \(entity.name) WHERE "
                    + matches.joined(separator: " AND "), with: key.values)
            values[name] = row?.first?[0]
        }
        return values
    }

    private mutating func grow(_ store: SimulatedStore) throws {
        let sql = "ALTER TABLE \(entity.name) ADD COLUMN \(Self.column) TEXT"
        if isForeign.chance(0.5) {
            try store.database.run(sql)
        } else {
            _ = try Store.alter(store.path, running: sql)
        }
        grown.insert(store.path)
    }
}
