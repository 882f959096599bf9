import SyncCore
import SyncMerge

/// A table that the replicas of a simulation get at different moments, and the writes into it:
/// replicas without the table keep and forward its rows, and show them when they have it. Some drop
/// it, and make it again.
struct TableGrowth {
    /// The new table; its name sorts before, between or after the others.
    let name: String
    private let hasPrivateKey: Bool
    /// What it refers to; nil: nothing.
    private let target: MergeEntity?
    private let action: MergeEntity.Reference.Action
    private var random: SeededRandom
    /// The files that have it.
    private var grown: Set<String> = []
    private var count = 0
    /// Random numbers of drops: a generator of its own, so that a schedule is the same without it.
    private var dropping: SeededRandom
    private let isDropped: Bool

    /// Draws the new table.
    /// - Returns: nil: the replicas of this seed have the same tables all the time.
    init?(_ schema: SimulatedSchema, seed: UInt64) {
        var random = SeededRandom(seed: seed &+ 0xB_0000_0000)
        guard random.chance(0.35) else { return nil }
        name = random.pick(["a0", "E0a", "e1m", "E2x", "z"])
        hasPrivateKey = random.chance(0.5)
        target = random.chance(0.5) ? random.pick(schema.merge.entities) : nil
        action = random.pick([.cascade, .restrict, .setNull])
        self.random = random
        var dropping = SeededRandom(seed: seed &+ 0x1B_0000_0000)
        isDropped = dropping.chance(0.3)
        self.dropping = dropping
    }

    private var references: [String] { (target?.key.indices).map { $0.map { "r\($0)" } } ?? [] }

    private func sql(in store: SimulatedStore) -> String {
        var parts = [hasPrivateKey ? "id INTEGER PRIMARY KEY" : "id TEXT PRIMARY KEY NOT NULL"]
        parts += references + ["text TEXT"]
        if let target {
            let columns = store.columns(of: target.name)
            let keys = target.key.map { columns[$0] }.joined(separator: ", ")
            parts.append(
                "FOREIGN KEY(\(references.joined(separator: ", "))) REFERENCES "
                    + "\(store.table(target.name))(\(keys)) "
                    + "ON DELETE \(action.sql) ON UPDATE CASCADE")
        }
        return "CREATE TABLE \(name)(\(parts.joined(separator: ", ")))"
    }

    /// Adds the table to one of the replicas, or writes into it, or does nothing.
    mutating func step(_ stores: [SimulatedStore]) throws {
        guard random.chance(0.5) else { return }
        let store = random.pick(stores)
        guard grown.contains(store.path) else {
            if grown.isEmpty || random.chance(0.3) { try grow(store) }
            return
        }
        if isDropped, dropping.chance(0.2) { return try drop(store) }
        try store.commit {
            for _ in 0..<random.pick([1, 1, 2]) { try write(store) }
        }
    }

    /// Every replica has the table from now on.
    mutating func finish(_ stores: [SimulatedStore]) throws {
        for store in stores where !grown.contains(store.path) { try grow(store) }
    }

    /// A replica that was made from a snapshot gets the table, too, unless the snapshot had it.
    mutating func finish(clone: SimulatedStore) throws {
        let sql = "SELECT name FROM sqlite_schema WHERE name = '\(name)' COLLATE NOCASE"
        let isThere = try clone.database.run(sql) != []
        if !isThere || clone.hasTable(name) { return try grow(clone) }
        clone.addedTable = name
    }

    /// The rows of the table by their identity, with the identity of what they refer to.
    func values(_ store: SimulatedStore) throws -> [ObjectUID: [Value]] {
        let names = try store.names(of: name)
        let targets = try target.map { target in
            let names = try store.names(of: target.name).map { (folded($0.key), $0.value) }
            return Dictionary(uniqueKeysWithValues: names)
        }
        let columns = (["id", "text"] + references).joined(separator: ", ")
        var values: [ObjectUID: [Value]] = [:]
        let rows = try store.database.run("SELECT \(columns) FROM \(name)") ?? []
        for row in rows {
            guard let uid = names[[row[0]]] else {
                throw SimulationFailure("a row of the new table has no identity")
            }
            var value = [hasPrivateKey ? .null : row[0], row[1]]
            let key = Array(row.dropFirst(2))
            if let targets, !key.contains(.null) {
                guard let target = targets[folded(key)] else {
                    throw SimulationFailure("a reference of the new table dangles")
                }
                value.append(.text(target.description))
            }
            values[uid] = value
        }
        guard values.count == names.count else {
            throw SimulationFailure("rows of the new table are missing")
        }
        return values
    }

    /// One form for all spellings of a key of the target.
    private func folded(_ key: [Value]) -> [Value] {
        guard let target else { return key }
        return zip(target.key, key).map { target.columns[$0].collation.folded($1) }
    }

    // MARK: Steps

    private mutating func grow(_ store: SimulatedStore) throws {
        try store.free(table: name)
        let sql = sql(in: store)
        if random.chance(0.5) {
            _ = try Store.alter(store.path, running: sql)
        } else {
            try store.database.run(sql)
        }
        try Store.track(store.path)
        // What these found is as old as the simulation, not as the machine.
        try store.willCommit()
        grown.insert(store.path)
        store.addedTable = name
        // Its former rows come back before others are written: these are refused beside conflicts.
        if store.hasDroppedTable { try store.state() }
        try store.remember()
    }

    /// What was written into it is recorded before, as by `synctool alter`: the others get it.
    private mutating func drop(_ store: SimulatedStore) throws {
        try store.state()
        _ = try Store.alter(store.path, running: "DROP TABLE \(name)")
        try store.willCommit()
        grown.remove(store.path)
        store.addedTable = nil
        store.hasDroppedTable = true
        try store.remember()
    }

    private mutating func write(_ store: SimulatedStore) throws {
        count += 1
        let keys = try store.database.run("SELECT id FROM \(name) ORDER BY id") ?? []
        let text = Value.text("new \(count)")
        guard !keys.isEmpty, !random.chance(0.5) else {
            let key = hasPrivateKey ? Value.null : .text("n\(random.below(4))")
            let values = [key, text] + (try reference(store))
            let columns = (["id", "text"] + references).joined(separator: ", ")
            let marks = values.map { _ in "?" }.joined(separator: ", ")
            try store.database.run("INSERT INTO \(name)(\(columns)) VALUES(\(marks))", with: values)
            return
        }
        let key = random.pick(keys)
        switch random.below(references.isEmpty ? 2 : 3) {
        case 0: try store.database.run("DELETE FROM \(name) WHERE id = ?", with: key)
        case 1:
            try store.database.run("UPDATE \(name) SET text = ? WHERE id = ?", with: [text] + key)
        default:
            let list = references.map { "\($0) = ?" }.joined(separator: ", ")
            let values = try reference(store) + key
            try store.database.run("UPDATE \(name) SET \(list) WHERE id = ?", with: values)
        }
    }

    private mutating func reference(_ store: SimulatedStore) throws -> [Value] {
        guard let target else { return [] }
        let columns = store.columns(of: target.name)
        let keys = target.key.map { columns[$0] }.joined(separator: ", ")
        let table = store.table(target.name)
        let rows = try store.database.run("SELECT \(keys) FROM \(table) ORDER BY \(keys)")
        guard let rows, !rows.isEmpty, !random.chance(0.2) else {
            return references.map { _ in .null }
        }
        return random.pick(rows)
    }
}
