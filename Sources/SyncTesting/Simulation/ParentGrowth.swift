import SyncCore
import SyncMerge

/// A table that the replicas of a simulation begin to synchronise at different moments, and what
/// refers to it before they do: a column of another table, or a new table. Until then they show
/// such a reference as NULL, or hide the row where NULL is refused, and edit what else there is in
/// it.
struct ParentGrowth {
    /// What refers to the table.
    private enum Child {
        /// A new column of a table.
        case column(MergeEntity)
        /// A new table, whose rows need the reference or do not.
        case table(isRequired: Bool)
    }

    private static let parent = "gp"
    private static let children = "gc"
    private static let column = "gr"

    private let child: Child
    /// Whether nobody writes NULL or deletes what is referred to: each row keeps a reference then.
    private let keepsReferences: Bool
    private let hasPrivateKey: Bool
    private let action: MergeEntity.Reference.Action
    private var random: SeededRandom
    /// The files that have the tables, and those that synchronise both.
    private var grown: Set<String> = []
    private var whole: Set<String> = []
    private var count = 0

    /// Draws the tables.
    init(_ schema: SimulatedSchema, seed: UInt64) {
        var random = SeededRandom(seed: seed &+ 0x1D_0000_0000)
        keepsReferences = random.chance(0.4)
        let isRequired = random.chance(0.6) && !keepsReferences
        child =
            random.chance(0.5) && !keepsReferences
            ? .column(random.pick(schema.merge.entities)) : .table(isRequired: isRequired)
        hasPrivateKey = random.chance(0.5)
        action = random.pick([.cascade, .restrict, .setNull])
        self.random = random
    }

    private var isTable: Bool {
        if case .table = child { true } else { false }
    }

    private var reference: String {
        var action = action
        var type = hasPrivateKey ? "INTEGER" : "TEXT"
        if case .table(isRequired: true) = child {
            type += " NOT NULL"
            if action == .setNull { action = .cascade }
        }
        return "\(Self.column) \(type) REFERENCES \(Self.parent)(id) ON DELETE \(action.sql) "
            + "ON UPDATE CASCADE"
    }

    // MARK: Steps

    /// Gives some of the replicas the tables, has them synchronise the referred one, or writes.
    mutating func step(_ stores: [SimulatedStore]) throws {
        for _ in 0..<3 { try act(random.pick(stores)) }
    }

    private mutating func act(_ store: SimulatedStore) throws {
        guard grown.contains(store.path) else {
            return grown.isEmpty || random.chance(0.5) ? try grow(store) : ()
        }
        if !whole.contains(store.path), random.chance(0.06) { return try complete(store) }
        try store.commit {
            for _ in 0..<random.pick([1, 1, 2]) { try write(store) }
        }
    }

    /// Every replica synchronises the tables from now on.
    mutating func finish(_ stores: [SimulatedStore]) throws {
        for store in stores {
            if !grown.contains(store.path) { try grow(store) }
            if !whole.contains(store.path) { try complete(store) }
        }
    }

    /// A replica that was made from a snapshot gets what that had not.
    mutating func finish(clone: SimulatedStore) throws {
        for statement in statements(for: clone) {
            let isThere =
                switch child {
                case .column(let entity) where statement.hasPrefix("ALTER"):
                    try clone.database.run(
                        "SELECT 1 FROM pragma_table_info(?) WHERE name = ?",
                        with: [.text(clone.table(entity.name)), .text(Self.column)])
                default:
                    try clone.database.run(
                        "SELECT 1 FROM sqlite_schema WHERE instr(?, 'TABLE ' || name || '(')",
                        with: [.text(statement)])
                }
            if isThere == [] { try clone.database.run(statement) }
        }
        try Store.track(clone.path)
        try clone.willCommit()
        try note(in: clone)
    }

    private func statements(for store: SimulatedStore) -> [String] {
        let key = hasPrivateKey ? "id INTEGER PRIMARY KEY" : "id TEXT PRIMARY KEY NOT NULL"
        let table = "CREATE TABLE \(Self.parent)(\(key), text TEXT)"
        switch child {
        case .column(let entity):
            return [table, "ALTER TABLE \(store.table(entity.name)) ADD COLUMN \(reference)"]
        case .table:
            let columns = "id TEXT PRIMARY KEY NOT NULL, \(reference), text TEXT"
            return [table, "CREATE TABLE \(Self.children)(\(columns))"]
        }
    }

    private mutating func grow(_ store: SimulatedStore) throws {
        let statements = statements(for: store)
        if random.chance(0.5) {
            _ = try Store.alter(store.path, running: statements.joined(separator: "; "))
        } else {
            for statement in statements { try store.database.run(statement) }
        }
        grown.insert(store.path)
        if whole.isEmpty || random.chance(0.2) { return try complete(store) }
        if isTable { try Store.track(store.path, entities: .only([Self.children])) }
        try store.willCommit()
        try note(in: store)
    }

    private mutating func complete(_ store: SimulatedStore) throws {
        let tables = [Self.parent] + (isTable ? [Self.children] : [])
        try Store.track(store.path, entities: .only(tables))
        try store.willCommit()
        whole.insert(store.path)
        try note(in: store)
    }

    private func note(in store: SimulatedStore) throws {
        try store.takeNames(tables: [Self.parent, Self.children])
        try store.remember()
    }

    // MARK: Writes

    private mutating func write(_ store: SimulatedStore) throws {
        count += 1
        let text = Value.text("grown \(count)")
        let isWhole = whole.contains(store.path)
        let database = store.database
        let parents =
            isWhole ? try database.run("SELECT id FROM \(Self.parent) ORDER BY id") ?? [] : []
        if isWhole, parents.isEmpty || random.chance(0.3) {
            let key = parents.isEmpty ? nil : random.pick(parents)
            switch random.below(key == nil ? 1 : 4) {
            case 2 where !keepsReferences:
                try database.run("DELETE FROM \(Self.parent) WHERE id = ?", with: key ?? [])
            case 3:
                try database.run(
                    "UPDATE \(Self.parent) SET text = ? WHERE id = ?", with: [text] + (key ?? []))
            default:
                try database.run(
                    "INSERT OR IGNORE INTO \(Self.parent)(id, text) VALUES (?, ?)",
                    with: [hasPrivateKey ? .null : .text("p\(random.below(4))"), text])
            }
            return
        }
        let isNull = parents.isEmpty || !keepsReferences && random.chance(0.1)
        let target = isNull ? [.null] : random.pick(parents)
        switch child {
        case .column(let entity):
            let keys = entity.key.map { store.columns(of: entity.name)[$0] }
            let list = keys.joined(separator: ", ")
            let table = store.table(entity.name)
            let rows = try database.run("SELECT \(list) FROM \(table) ORDER BY \(list) LIMIT 3")
            guard let rows, !rows.isEmpty else { return }
            // What a plain schema has in each table: a text beside the reference.
            let isReference = isWhole && random.chance(0.7)
            try database.run(
                "UPDATE \(table) SET \(isReference ? Self.column : "d") = ? WHERE "
                    + keys.map { "\($0) IS ?" }.joined(separator: " AND "),
                with: (isReference ? target : [text]) + random.pick(rows))
        case .table:
            let rows =
                try database.run("SELECT id FROM \(Self.children) ORDER BY id LIMIT 3") ?? []
            switch random.below(rows.isEmpty ? 1 : 4) {
            case 1:
                try database.run(
                    "UPDATE \(Self.children) SET text = ? WHERE id = ?",
                    with: [text] + random.pick(rows))
            case 2 where isWhole:
                try database.run(
                    "UPDATE \(Self.children) SET \(Self.column) = ? WHERE id = ?",
                    with: target + random.pick(rows))
            case 3:
                try database.run(
                    "DELETE FROM \(Self.children) WHERE id = ?", with: random.pick(rows))
            default:
                if keepsReferences && isNull { return }
                try database.run(
                    "INSERT OR IGNORE INTO \(Self.children)(id, \(Self.column), text) "
                        + "VALUES (?, ?, ?)",
                    with: [.text("c\(random.below(5))")] + target + [text])
            }
        }
    }

    // MARK: Checks

    /// The rows of the tables, and the references, by object.
    func values(_ store: SimulatedStore) throws -> [ObjectUID: [Value]] {
        var values: [ObjectUID: [Value]] = [:]
        let parents = try store.names(of: Self.parent)
        func named(_ value: Value) throws -> Value {
            if value == .null { return .null }
            guard let uid = parents[[value]] else {
                throw SimulationFailure("\(store.path): a reference to \(Self.parent) dangles")
            }
            return .text(uid.description)
        }
        let rows = try store.database.run("SELECT id, text FROM \(Self.parent)") ?? []
        for row in rows {
            guard let uid = parents[[row[0]]] else {
                throw SimulationFailure("a row of \(Self.parent) has no identity")
            }
            values[uid] = [hasPrivateKey ? .null : row[0], row[1]]
        }
        switch child {
        case .column(let entity):
            let (table, columns) = (store.table(entity.name), store.columns(of: entity.name))
            let matches = entity.key.map { "\(columns[$0]) IS ?" }.joined(separator: " AND ")
            for (key, uid) in try store.names()
            where store.schema.merge.entities[key.entity].name == entity.name {
                let row = try store.database.run(
                    "SELECT \(Self.column) FROM \(table) WHERE \(matches)", with: key.values)
                if let value = row?.first?[0] { values[uid] = [try named(value)] }
            }
        case .table:
            let names = try store.names(of: Self.children)
            let rows = try store.database.run(
                "SELECT id, \(Self.column), text FROM \(Self.children)")
            for row in rows ?? [] {
                guard let uid = names[[row[0]]] else {
                    throw SimulationFailure("a row of \(Self.children) has no identity")
                }
                if keepsReferences, row[1] == .null {
                    throw SimulationFailure("\(store.path) lost the reference of \(row[0])")
                }
                values[uid] = [row[0], try named(row[1]), row[2]]
            }
        }
        return values
    }
}
