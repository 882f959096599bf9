import SyncCore
import SyncMerge
import SyncReplica

/// Changes of the schema that several replicas make before they have each other's: tables, columns,
/// indexes and views, renames, columns that are dropped, or moved in a rebuild. Rows and columns
/// that one of them has made are written everywhere, so that there are open conflicts about a
/// column when a replica drops it, and values on their way to it.
///
/// Replicas take over each other's changes with what `schema --apply` does: one of them between two
/// steps, all of them after a full exchange. Between two full exchanges several add, drop and move
/// columns of one table; one alone changes a table that it renames, or whose columns: of one text
/// that two change otherwise the later one holds.
struct ConcurrentMigrations {
    /// What a replica changes.
    private enum Change {
        case table, column, index, view, renameTable, renameColumn
        /// A column.
        case drop, move
        /// An index or a view.
        case remove
    }

    /// An index or a view that a replica makes.
    private struct Object {
        let kind: String
        let name: String
        let entity: Int
        /// The replica that has dropped it: the others do so after the next full exchange.
        var dropper: String?
    }

    /// A table that a replica makes.
    private struct Table {
        let name: String
        let hasPrivateKey: Bool
        /// The table that it refers to, which has one column in its key.
        let target: Int?
    }

    /// A column that a replica adds.
    private struct Column {
        let entity: Int
        let name: String
        /// Type and default.
        let definition: String
        /// Whether a replica has dropped it: the others do so before the next full exchange.
        var isDropped = false
    }

    private let entities: [MergeEntity]
    private let changes: [Change]
    private var random: SeededRandom
    private var tables: [Table] = []
    private var columns: [Column] = []
    private var objects: [Object] = []
    private var count = 0

    /// Since the last full exchange: which replicas have changed the text of a table, which one has
    /// renamed it or a column of it, and which ones have made a view of it.
    private var changers: [Int: Set<String>] = [:]
    private var renamers: [Int: String] = [:]
    private var readers: [Int: Set<String>] = [:]

    /// Draws whether replicas change anything in an ordinary schedule.
    static func isDrawn(seed: UInt64) -> Bool {
        var random = SeededRandom(seed: seed &+ 0x1C_0000_0000)
        return random.chance(0.5)
    }

    /// Draws what replicas change.
    init(_ schema: SimulatedSchema, seed: UInt64) {
        var random = SeededRandom(seed: seed &+ 0x1A_0000_0000)
        entities = schema.merge.entities
        var changes: [Change] = [.table, .column, .column, .index, .remove]
        // A rebuild of a table that a view names is refused by SQLite.
        let drawn: [[Change]] = [[.view], [.view, .drop], [.drop, .move], [.drop, .drop, .move]]
        changes += random.pick(drawn)
        if random.chance(0.4) { changes += [.renameTable, .renameColumn] }
        self.changes = changes
        self.random = random
    }

    /// Whether tables are rebuilt or renamed.
    var remakes: Bool { changes.contains(.move) || changes.contains(.renameTable) }

    /// Changes something on one of the replicas, writes into what was made, or applies what one of
    /// them has heard of.
    mutating func step(_ stores: [SimulatedStore]) throws {
        for _ in 0..<2 {
            let store = random.pick(stores)
            switch random.below(10) {
            case ..<4: try change(store)
            case 4: try apply(store)
            default: try write(store, beside: random.pick(stores))
            }
        }
    }

    // MARK: Full exchanges

    /// Before a full exchange: some change something that no other one has heard of, and what one
    /// replica has dropped the others drop.
    mutating func finish(_ stores: [SimulatedStore]) throws {
        for store in stores where random.chance(0.6) {
            try write(store, beside: random.pick(stores))
            try change(store)
        }
        for column in columns where column.isDropped {
            for store in stores where try store.has(column.name, in: table(of: column, store)) {
                try drop(column, in: store)
            }
        }
    }

    /// After a full exchange: no replica takes what one has dropped for a part of the store's
    /// schema. Then the others drop it.
    /// - Throws: ``SimulationFailure``.
    mutating func finishDrops(_ stores: [SimulatedStore]) throws {
        let dropped = objects.filter { $0.dropper != nil }
        for store in stores {
            let present = try store.replica.storeSchema()?.content.objects ?? []
            if let object = dropped.first(where: { present.map(\.name).contains($0.name) }) {
                throw SimulationFailure("\(store.path) takes \(object) for a part of the schema")
            }
        }
        for object in dropped {
            for store in stores where try store.has(object.name) { try remove(object, in: store) }
        }
    }

    /// Applies what a replica has heard of.
    /// - Returns: whether there was anything to apply.
    @discardableResult
    func apply(_ store: SimulatedStore) throws -> Bool {
        try store.see()
        guard let comparison = try store.replica.compareSchema(), !comparison.changes.isEmpty else {
            return false
        }
        let own = Set(objects.filter { $0.dropper == store.path }.map(\.name))
        if let change = comparison.changes.first(where: { own.contains($0.name) }) {
            throw SimulationFailure("\(store.path) makes again what it has dropped: \(change)")
        }
        let wall = store.wall
        let failed = try StoreReplica.applySchema(
            comparison, at: store.path, wall: { wall.milliseconds })
        guard failed.isEmpty else {
            throw SimulationFailure("\(store.path) does not make \(failed)")
        }
        try store.willCommit()
        try store.takeNames(tables: tables.map(\.name))
        try store.see()
        return true
    }

    /// What a new replica has of the tables.
    func noteTables(of clone: SimulatedStore) throws {
        try clone.takeNames(tables: tables.map(\.name))
        try clone.remember()
    }

    /// Checks that replicas which have exchanged and applied everything have one schema, with the
    /// same contents.
    /// - Throws: ``SimulationFailure``.
    func check(_ stores: [SimulatedStore]) throws {
        let hashes = try Set(stores.map { try $0.replica.storeSchema()?.content.hash })
        guard hashes.count == 1 else {
            throw SimulationFailure("replicas know \(hashes.count) schemas of the store")
        }
        let shape = try stores[0].shape()
        let values = try values(stores[0])
        for store in stores {
            let waiting = try store.replica.waiting.filter { !$0.isSettled }
            guard waiting.isEmpty else {
                throw SimulationFailure("\(store.path) has what waits: \(waiting)")
            }
            let others = try store.shape()
            guard others == shape else {
                throw SimulationFailure(
                    "schemas differ: \(store.path) has \(others.subtracting(shape).sorted()), and "
                        + "not \(shape.subtracting(others).sorted())")
            }
            if let comparison = try store.replica.compareSchema() {
                let isEqual =
                    comparison.changes.isEmpty && comparison.differences.isEmpty
                    && comparison.refused.isEmpty
                    && comparison.onlyHere.allSatisfy { $0.hasPrefix("trigger ") }
                guard isEqual else {
                    throw SimulationFailure("\(store.path) differs from the store: \(comparison)")
                }
            }
            guard try self.values(store) == values else {
                throw SimulationFailure("what was added differs: \(store.path)")
            }
        }
    }

    /// After a full exchange: all replicas know everything.
    mutating func reset() {
        columns.removeAll(where: \.isDropped)
        objects.removeAll { $0.dropper != nil }
        (changers, renamers, readers) = ([:], [:], [:])
    }

    /// The rows of the tables and the values of the columns, by object.
    private func values(_ store: SimulatedStore) throws -> [String: [Value]] {
        var values: [String: [Value]] = [:]
        let names = try store.names()
        for table in tables where store.addedTables.contains(table.name) {
            let own = try store.names(of: table.name)
            let target = table.target.map { place in
                Dictionary(
                    uniqueKeysWithValues: names.filter { $0.key.entity == place }.map {
                        (folded($0.key.values[0], keyOf: place), $0.value)
                    })
            }
            let reference = table.target == nil ? "NULL" : "r"
            let rows = try store.database.run("SELECT id, text, \(reference) FROM \(table.name)")
            for row in rows ?? [] {
                guard let uid = own[[row[0]]] else {
                    throw SimulationFailure("a row of \(table.name) has no identity")
                }
                var value = [table.hasPrivateKey ? .null : row[0], row[1]]
                if let place = table.target, row[2] != .null {
                    guard let uid = target?[folded(row[2], keyOf: place)] else {
                        throw SimulationFailure("a reference of \(table.name) dangles")
                    }
                    value.append(.text(uid.description))
                }
                values["\(table.name) \(uid)"] = value
            }
        }
        for column in columns where !column.isDropped {
            guard try store.has(column.name, in: table(of: column, store)) else { continue }
            for (key, uid) in names where key.entity == column.entity {
                let row = try store.database.run(
                    "SELECT \(column.name) FROM \(table(of: column, store)) WHERE "
                        + matches(column.entity, store), with: key.values)
                values["\(column.name) \(uid)"] = row?.first ?? []
            }
        }
        return values
    }

    /// One form for all spellings of a key.
    private func folded(_ value: Value, keyOf place: Int) -> Value {
        entities[place].columns[entities[place].key[0]].collation.folded(value)
    }

    // MARK: Names

    private func table(of column: Column, _ store: SimulatedStore) -> String {
        store.table(entities[column.entity].name)
    }

    private func keys(_ place: Int, _ store: SimulatedStore) -> [String] {
        entities[place].key.map { store.columns(of: entities[place].name)[$0] }
    }

    private func matches(_ place: Int, _ store: SimulatedStore) -> String {
        keys(place, store).map { "\($0) IS ?" }.joined(separator: " AND ")
    }

    private mutating func fresh(_ prefix: String) -> String {
        let taken = Set(entities.flatMap(\.columns).map(\.name))
        repeat { count += 1 } while taken.contains("\(prefix)\(count)")
        return "\(prefix)\(count)"
    }

    // MARK: Changes

    private mutating func change(_ store: SimulatedStore) throws {
        if store.hasLostTriggers || random.chance(0.5) { try store.see() }
        let place = random.below(entities.count)
        switch random.pick(changes) {
        case .table: try makeTable(over: random.chance(0.5) ? place : nil, in: store)
        case .index: try make("INDEX", over: place, in: store) { "ON \($0)(\($1))" }
        case .view:
            // The names of columns are not followed in a view.
            guard isFree(place, store) else { return }
            readers[place, default: []].insert(store.path)
            try make("VIEW", over: place, in: store) { "AS SELECT \($1) FROM \($0)" }
        case .column: try addColumn(to: place, in: store)
        case .renameTable: try rename(place, column: nil, in: store)
        case .renameColumn:
            let column = random.below(entities[place].columns.count)
            try rename(place, column: column, in: store)
        case .drop:
            if let position = try present(in: store) {
                columns[position].isDropped = true
                try drop(columns[position], in: store)
            }
        case .move:
            if let position = try present(in: store) { try move(columns[position], in: store) }
        case .remove:
            let present = try objects.indices.filter {
                try objects[$0].dropper == nil && renamers[objects[$0].entity] == nil
                    && store.has(objects[$0].name)
            }
            guard !present.isEmpty else { return }
            let position = random.pick(present)
            objects[position].dropper = store.path
            try remove(objects[position], in: store)
        }
    }

    /// Whether no other replica has renamed a table or its columns.
    private func isFree(_ place: Int, _ store: SimulatedStore) -> Bool {
        renamers[place].map { $0 == store.path } ?? true
    }

    /// Runs statements as a command or by another program, which the replica may not see yet.
    private mutating func run(_ sql: String, in store: SimulatedStore, isSeen: Bool) throws {
        if random.chance(0.5) {
            _ = try Store.alter(store.path, running: sql)
            try store.willCommit()
        } else {
            try store.database.run(sql)
        }
        if isSeen || random.chance(0.5) { try store.see() } else { try store.remember() }
    }

    private mutating func makeTable(over place: Int?, in store: SimulatedStore) throws {
        var target: Int?
        if let place, entities[place].key.count == 1 { target = place }
        let table = Table(
            name: fresh(random.pick(["c", "z"])), hasPrivateKey: random.chance(0.5), target: target)
        var parts = [
            table.hasPrivateKey ? "id INTEGER PRIMARY KEY" : "id TEXT PRIMARY KEY NOT NULL",
            "text TEXT",
        ]
        if let target {
            let action = random.pick(["CASCADE", "SET NULL"])
            parts.append(
                "r REFERENCES \(store.table(entities[target].name))(\(keys(target, store)[0])) "
                    + "ON DELETE \(action) ON UPDATE CASCADE")
        }
        tables.append(table)
        let sql = "CREATE TABLE \(table.name)(\(parts.joined(separator: ", ")))"
        try run(sql, in: store, isSeen: false)
        try Store.track(store.path, entities: .only([table.name]))
        try store.willCommit()
        store.addedTables.append(table.name)
        try store.remember()
    }

    private mutating func make(
        _ kind: String, over place: Int, in store: SimulatedStore,
        _ definition: (String, String) -> String
    ) throws {
        guard let column = entities[place].columns.firstIndex(where: { $0.name == "d" }) else {
            return
        }
        let name = entities[place].name
        let text = definition(store.table(name), store.columns(of: name)[column])
        let object = Object(kind: kind, name: fresh("c"), entity: place)
        objects.append(object)
        try run("CREATE \(kind) \(object.name) \(text)", in: store, isSeen: false)
    }

    private mutating func remove(_ object: Object, in store: SimulatedStore) throws {
        // What nothing has read before it was dropped was never there.
        try store.see()
        try run("DROP \(object.kind) \(object.name)", in: store, isSeen: false)
    }

    private mutating func addColumn(to place: Int, in store: SimulatedStore) throws {
        guard isFree(place, store) else { return }
        changers[place, default: []].insert(store.path)
        let name = fresh("c")
        let column = Column(
            entity: place, name: name,
            definition: random.chance(0.3) ? "TEXT DEFAULT 'default \(name)'" : "TEXT")
        columns.append(column)
        let table = store.table(entities[place].name)
        try run(
            "ALTER TABLE \(table) ADD COLUMN \(name) \(column.definition)", in: store,
            isSeen: false)
    }

    /// Renames a table or a column. The texts of what refers to it change with it.
    private mutating func rename(_ place: Int, column: Int?, in store: SimulatedStore) throws {
        let changed = entities.indices.filter { other in
            other == place || entities[other].references.contains { $0.target == place }
        }
        let others = changers[place, default: []].union(readers[place, default: []])
        guard changed.allSatisfy({ isFree($0, store) }), others.isSubset(of: [store.path]),
            !columns.contains(where: { $0.isDropped && $0.entity == place }),
            !objects.contains(where: { $0.dropper != nil && $0.entity == place })
        else { return }
        for other in changed { changers[other, default: []].insert(store.path) }
        renamers[place] = store.path
        let new = fresh("n")
        let table = store.schema.tableNames[place]
        try store.see()
        if let column {
            let old = store.schema.columnNames[place][column]
            store.schema.columnNames[place][column] = new
            let sql = "ALTER TABLE \(table) RENAME COLUMN \(old) TO \(new)"
            return try run(sql, in: store, isSeen: true)
        }
        store.schema.tableNames[place] = new
        try run("ALTER TABLE \(table) RENAME TO \(new)", in: store, isSeen: true)
    }

    /// A column that a replica has, and may drop or move.
    private mutating func present(in store: SimulatedStore) throws -> Int? {
        for position in columns.indices.shuffled(using: &random) {
            let column = columns[position]
            // Where the others drop it, they have to have the name of the table.
            guard !column.isDropped, renamers[column.entity] == nil,
                try store.has(column.name, in: table(of: column, store))
            else { continue }
            changers[column.entity, default: []].insert(store.path)
            return position
        }
        return nil
    }

    private mutating func drop(_ column: Column, in store: SimulatedStore) throws {
        // What nothing has read before it was dropped was never there.
        try store.see()
        let table = table(of: column, store)
        if changes.contains(.move), random.chance(0.5) {
            try rebuild(table, in: store, without: column.name) {
                try Self.without(column, $0)
            }
        } else {
            _ = try Store.alter(
                store.path, running: "ALTER TABLE \(table) DROP COLUMN \(column.name)")
            try store.willCommit()
        }
        try store.see()
    }

    /// Moves a column in front of all others.
    private mutating func move(_ column: Column, in store: SimulatedStore) throws {
        try rebuild(table(of: column, store), in: store) { definition in
            let rest = try Self.without(column, definition).dropFirst()
            return "(\(column.name) \(column.definition), \(rest)"
        }
        try store.see()
    }

    private mutating func rebuild(
        _ table: String, in store: SimulatedStore, without column: String? = nil,
        _ change: (String) throws -> String
    ) throws {
        count += 1
        try TableRebuild(table, in: store).run(
            isAtOnce: random.chance(0.7), number: 4_000_000 + count, without: column,
            asCommand: random.chance(0.5), change)
    }

    private static func without(_ column: Column, _ definition: String) throws -> String {
        for name in [column.name, "\"\(column.name)\""] {
            let text = "\(name) \(column.definition)"
            for part in [", \(text)", "\(text), "] {
                if let place = definition.range(of: part) {
                    return definition.replacingCharacters(in: place, with: "")
                }
            }
        }
        throw SimulationFailure("\(column.name) is not in \(definition)")
    }

    // MARK: Writes

    /// Writes something in a replica, and the same column in another one.
    private mutating func write(_ store: SimulatedStore, beside other: SimulatedStore) throws {
        let present = try columns.filter { try store.has($0.name, in: table(of: $0, store)) }
        let tables = tables.filter { store.addedTables.contains($0.name) }
        guard !present.isEmpty || !tables.isEmpty else { return }
        guard tables.isEmpty || !present.isEmpty && random.chance(0.7) else {
            let table = random.pick(tables)
            return try commit(store) { try $0.write(table, in: store) }
        }
        let column = random.pick(present)
        try commit(store) { try $0.write(column, in: store) }
        guard other.path != store.path,
            try other.has(column.name, in: self.table(of: column, other))
        else { return }
        try commit(other) { try $0.write(column, in: other) }
    }

    private mutating func commit(
        _ store: SimulatedStore, _ write: (inout ConcurrentMigrations) throws -> Void
    ) throws {
        try store.commit { try write(&self) }
    }

    private mutating func text() -> Value {
        random.chance(0.15) ? .null : .text(fresh("added "))
    }

    /// One of the first rows: replicas write the same ones.
    private mutating func write(_ column: Column, in store: SimulatedStore) throws {
        let table = table(of: column, store)
        let list = keys(column.entity, store).joined(separator: ", ")
        let rows = try store.database.run("SELECT \(list) FROM \(table) ORDER BY \(list) LIMIT 2")
        guard let rows, !rows.isEmpty else { return }
        try store.database.run(
            "UPDATE \(table) SET \(column.name) = ? WHERE \(matches(column.entity, store))",
            with: [text()] + (random.chance(0.7) ? rows[0] : random.pick(rows)))
    }

    private mutating func write(_ table: Table, in store: SimulatedStore) throws {
        let keys = try store.database.run("SELECT id FROM \(table.name) ORDER BY id LIMIT 2") ?? []
        guard !keys.isEmpty, !random.chance(0.5) else {
            let key = table.hasPrivateKey ? Value.null : .text("k\(random.below(3))")
            guard let target = table.target else {
                try store.database.run(
                    "INSERT INTO \(table.name)(id, text) VALUES(?, ?)", with: [key, text()])
                return
            }
            let list = self.keys(target, store)[0]
            let rows = try store.database.run(
                "SELECT \(list) FROM \(store.table(entities[target].name)) ORDER BY \(list)")
            let reference = (rows ?? []).isEmpty ? [Value.null] : random.pick(rows ?? [])
            try store.database.run(
                "INSERT INTO \(table.name)(id, text, r) VALUES(?, ?, ?)",
                with: [key, text()] + reference)
            return
        }
        let key = random.pick(keys)
        if random.chance(0.2) {
            try store.database.run("DELETE FROM \(table.name) WHERE id = ?", with: key)
        } else {
            try store.database.run(
                "UPDATE \(table.name) SET text = ? WHERE id = ?", with: [text()] + key)
        }
    }
}

extension SimulatedStore {
    /// Whether there is an object of a name.
    fileprivate func has(_ name: String) throws -> Bool {
        try database.run("SELECT 1 FROM sqlite_schema WHERE name = ?", with: [.text(name)]) == [[1]]
    }

    /// Whether a table has a column.
    fileprivate func has(_ column: String, in table: String) throws -> Bool {
        try database.run(
            "SELECT 1 FROM pragma_table_info(?) WHERE name = ?",
            with: [.text(table), .text(column)]
        ) == [[1]]
    }

    /// Tables with their columns, indexes and views.
    fileprivate func shape() throws -> Set<String> {
        let rows = try database.run(
            """
            SELECT type || ' ' || lower(name) || coalesce(' (' || (SELECT group_concat(name)
              FROM (SELECT lower(name) AS name FROM pragma_table_xinfo(m.name) ORDER BY 1)) || ')',
              '')
            FROM sqlite_schema AS m WHERE type <> 'trigger'
              AND name NOT LIKE 'syncd%' AND name NOT LIKE 'sqlite%'
            """)
        return Set(
            (rows ?? []).compactMap { row in
                if case .text(let text) = row[0] { return text }
                return nil
            })
    }
}
