import SyncReplica

/// A tracked file of which nothing is recorded as facts yet, with rows of before and after `track`,
/// of any schema and form: what a first push finds.
package struct UnstatedStore: SimulatedTables {
    let schema: SimulatedSchema
    let database: WriterDatabase
    private(set) var tables: [RowKey: [Value]] = [:]
    private var random: SeededRandom
    private var tokens = RandomWriter.Tokens()

    /// Makes the file of a seed.
    /// - Throws: ``SimulationFailure``, or what the engine throws.
    package static func make(seed: UInt64, at path: String) throws {
        var random = SeededRandom(seed: seed &+ 0x16_0000_0000)
        let schema = RandomSchema.draw(&random, convertsReferences: true)
        let file = SimulatedFile.draw(&random)
        var store = UnstatedStore(
            schema: schema, database: try WriterDatabase(path), random: random)
        for statement in file.statements { try store.database.run(statement) }
        try store.database.run("PRAGMA foreign_keys = ON")
        for statement in schema.statements + schema.triggers { try store.database.run(statement) }
        try store.write(store.random.pick([0, 5, 20, 40]))
        try Store.track(path)
        try store.write(store.random.pick([0, 0, 5, 20]))
        let replica = try StoreReplica(path)
        try replica.setPolicies(schema.policies)
        try replica.close()
    }

    private init(schema: SimulatedSchema, database: WriterDatabase, random: SeededRandom) {
        self.schema = schema
        self.database = database
        self.random = random
    }

    private mutating func write(_ count: Int) throws {
        for _ in 0..<count {
            var writer = RandomWriter(self, random: random.fork())
            _ = try writer.write(nil, focus: nil, tokens: &tokens)
            tables = try read()
        }
        if count > 0, random.chance(0.3) { try writeLoosely() }
        for _ in 0..<(count > 0 ? 4 : 0) { try writeAnyValue() }
        tables = try read()
    }

    /// What a program with foreign keys off leaves: rows that refer to nothing.
    private mutating func writeLoosely() throws {
        try database.run("PRAGMA foreign_keys = OFF")
        let keys = try read().keys.sorted(by: schema.merge.precedes)
        if !keys.isEmpty {
            let key = random.pick(keys)
            try database.run(schema.delete(key.entity), with: key.values)
        }
        try database.run("PRAGMA foreign_keys = ON")
    }

    /// Values that the other writers do not write, into columns without a constraint.
    private mutating func writeAnyValue() throws {
        let keys = try read().keys.sorted(by: schema.merge.precedes)
        guard !keys.isEmpty else { return }
        let key = random.pick(keys)
        let free = schema.roles[key.entity].indices.filter {
            [.token, .counter, .set, .lines].contains(schema.roles[key.entity][$0])
        }
        let value = random.pick(
            [
                .null, .integer(-1 << 60), .real(-0.5), .real(3), .text(""), .text("ä\u{1F600}\0b"),
                .blob([]), .blob([0, 255]), .blob(Array("\0syncd\u{1A}\u{1}".utf8)),
            ] as [Value])
        try database.run(
            schema.update(key.entity, columns: [random.pick(free)]), with: [value] + key.values)
    }
}
