/// Other programs that change tables with plain SQL while no daemon runs, as ORMs and people do:
/// they rebuild a table, or drop some of its triggers, and continue writing. What they write is not
/// captured; the replica has to find it by comparison.
struct ForeignMigration {
    /// Writes after a change of the schema.
    private static let writesMax = 4

    private var random: SeededRandom
    private var count = 0

    /// Draws whether and when the schema is changed.
    /// - Returns: nil: no program changes the schema in this seed.
    init?(seed: UInt64) {
        var random = SeededRandom(seed: seed &+ 0xB_0000_0000)
        guard random.chance(0.4) else { return nil }
        self.random = random
    }

    /// Changes the schema of one of the stores, or does nothing.
    /// - Returns: the store, and a generator for each write that follows.
    mutating func step(
        _ stores: [SimulatedStore]
    ) throws -> (store: Int, writes: [SeededRandom])? {
        guard random.chance(0.25) else { return nil }
        let index = random.below(stores.count)
        for _ in 0..<random.pick([1, 1, 2, 3]) {
            let table = stores[index].table(
                random.pick(stores[index].schema.merge.entities).name)
            if random.chance(0.5) {
                try rebuild(table, in: stores[index])
            } else {
                try dropTriggers(of: table, in: stores[index])
            }
        }
        return (index, (0..<random.below(Self.writesMax + 1)).map { _ in random.fork() })
    }

    private mutating func rebuild(_ table: String, in store: SimulatedStore) throws {
        count += 1
        try TableRebuild(table, in: store).run(isAtOnce: random.chance(0.7), number: count)
    }

    private mutating func dropTriggers(of table: String, in store: SimulatedStore) throws {
        if store.hasUnseenNames { try store.see() }
        let triggers = try store.database.run(
            """
            SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = ?
            AND name GLOB 'syncd_[0-9]*' ORDER BY name
            """, with: [.text(table)])
        store.hasLostTriggers = true
        let isAll = random.chance(0.5)
        for row in triggers ?? [] where isAll || random.chance(0.5) {
            if case .text(let name) = row[0] { try store.database.run("DROP TRIGGER \(name)") }
        }
    }
}
