import SyncCore
import SyncMerge

/// A column that the replicas of a simulation get at different moments, and the writes into it:
/// replicas without the column keep its values, and show them when they have it.
struct SchemaGrowth {
    static let column = "grown"

    private let entity: MergeEntity
    private var random: SeededRandom
    /// Whether another program adds the column, with plain SQL.
    private var isForeign: SeededRandom
    /// Random numbers of dropping the column and adding it again; nil: nobody does.
    private var again: SeededRandom?
    /// Random numbers of adding it in front of all others, in a rebuild; nil: it is the last one.
    private var inFront: SeededRandom?
    /// The files that have the column, and those that have its second generation.
    private var grown: Set<String> = []
    private var readded: Set<String> = []
    private var count = 0

    /// Draws the table that gets the column.
    /// - Returns: nil: the schema of this seed stays as it is.
    init?(_ schema: SimulatedSchema, seed: UInt64) {
        var random = SeededRandom(seed: seed &+ 0x9_0000_0000)
        guard random.chance(0.3) else { return nil }
        entity = random.pick(schema.merge.entities)
        self.random = random
        isForeign = SeededRandom(seed: seed &+ 0xC_0000_0000)
        var again = SeededRandom(seed: seed &+ 0x17_0000_0000)
        self.again = again.chance(0.4) ? again : nil
        var inFront = SeededRandom(seed: seed &+ 0x19_0000_0000)
        self.inFront = inFront.chance(0.3) ? inFront : nil
    }

    /// Whether tables are rebuilt.
    var rebuilds: Bool { inFront != nil }

    /// Adds the column to one of the replicas, or writes into it, or does nothing.
    mutating func step(_ stores: [SimulatedStore]) throws {
        guard random.chance(0.4) else { return }
        let store = random.pick(stores)
        guard grown.contains(store.path) else { return try grow(store) }
        if !readded.contains(store.path), again?.chance(0.15) ?? false { try readd(store) }
        let table = store.table(entity.name)
        count += 1
        let text = random.chance(0.15) ? Value.null : .text("grown \(count)")
        let rows = try store.database.run("SELECT count(*) FROM \(table)")
        guard case .integer(let all)? = rows?[0][0], all > 0 else { return }
        let keys = entity.key.map { store.columns(of: entity.name)[$0] }
        let list = keys.joined(separator: ", ")
        let key = try store.database.run(
            "SELECT \(list) FROM \(table) ORDER BY \(list) LIMIT 1 OFFSET ?",
            with: [.integer(Int64(random.below(Int(all))))])
        guard let key = key?.first else { return }
        let matches = keys.map { "\($0) IS ?" }.joined(separator: " AND ")
        try store.database.run("BEGIN IMMEDIATE")
        try store.database.run(
            "UPDATE \(table) SET \(Self.column) = ? WHERE \(matches)", with: [text] + key)
        try store.willCommit()
        try store.database.run("COMMIT")
        try store.remember()
    }

    /// Every replica has the column from now on.
    mutating func finish(_ stores: [SimulatedStore]) throws {
        for store in stores where !grown.contains(store.path) { try grow(store) }
        if readded.isEmpty { return }
        for store in stores where !readded.contains(store.path) { try readd(store) }
    }

    /// The column of each object.
    func values(_ store: SimulatedStore) throws -> [ObjectUID: Value] {
        let names = try store.names()
        let (table, columns) = (store.table(entity.name), store.columns(of: entity.name))
        let keys = entity.key.map { columns[$0] }.joined(separator: ", ")
        var values: [ObjectUID: Value] = [:]
        for (key, name) in names
        where store.schema.merge.entities[key.entity].name == entity.name {
            let matches = entity.key.map { "\(columns[$0]) IS ?" }
            let row = try store.database.run(
                "SELECT \(Self.column), \(keys) FROM \(table) WHERE "
                    + matches.joined(separator: " AND "), with: key.values)
            values[name] = row?.first?[0]
        }
        return values
    }

    private mutating func grow(_ store: SimulatedStore) throws {
        try store.free(column: Self.column, of: entity.name)
        let sql = "ALTER TABLE \(store.table(entity.name)) ADD COLUMN \(Self.column) TEXT"
        if inFront?.chance(0.7) ?? false {
            // All other columns get other places.
            count += 1
            try TableRebuild(store.table(entity.name), in: store).run(
                isAtOnce: true, number: 3_000_000 + count
            ) { "(\(Self.column) TEXT, " + $0.dropFirst() }
        } else if isForeign.chance(0.5) {
            try store.database.run(sql)
        } else {
            _ = try Store.alter(store.path, running: sql)
            try store.willCommit()
        }
        grown.insert(store.path)
        store.hasGrown = true
    }

    /// Drops the column, and adds another one of its name; not where the replica has added the
    /// second generation at once, because it had heard of that one.
    private mutating func readd(_ store: SimulatedStore) throws {
        readded.insert(store.path)
        // A column that nothing read before it was dropped was none: the next one is the first.
        try store.see()
        let parts = try store.database.run(
            """
            SELECT part FROM syncd_name
            WHERE name = ?1 AND lower(entity) = lower(?2) AND part <> '' AND number IS NULL
            """, with: [.text(Self.column), .text(entity.name)])
        guard parts?.first?.first == .text(Self.column) else { return }
        let table = store.table(entity.name)
        _ = try Store.alter(
            store.path,
            running: "ALTER TABLE \(table) DROP COLUMN \(Self.column); "
                + "ALTER TABLE \(table) ADD COLUMN \(Self.column) TEXT")
    }
}
