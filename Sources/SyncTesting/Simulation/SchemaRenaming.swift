import SyncCore
import SyncMerge

/// Tables and columns that the replicas of a simulation rename, each on its own: to new names, to
/// each other's, to one that a column or table bears elsewhere that this replica does not have yet,
/// in case alone, or to the other spelling of a letter with an accent. No replica ever has to have
/// the names of another one.
struct SchemaRenaming {
    /// How a statement reaches the store.
    private enum Way: CaseIterable { case command, plain, legacy }

    private var random: SeededRandom
    /// Columns that others look for by their names.
    private let spared: Set<String>
    /// Names that a column and a table get elsewhere.
    private let wanted: (column: String, table: String?)
    private var count = 0

    /// Draws whether anything is renamed.
    /// - Returns: nil: all names of this seed stay.
    init?(seed: UInt64, sparing spared: Set<String>, wanted: (column: String, table: String?)) {
        var random = SeededRandom(seed: seed &+ 0x15_0000_0000)
        guard random.chance(0.4) else { return nil }
        self.random = random
        self.spared = spared
        self.wanted = wanted
    }

    /// Renames something on one of the replicas, or does nothing.
    mutating func step(_ stores: [SimulatedStore]) throws {
        guard random.chance(0.35) else { return }
        let store = random.pick(stores)
        for _ in 0..<random.pick([1, 1, 1, 2, 3]) {
            let statements = random.chance(0.5) ? renameTable(in: store) : renameColumn(in: store)
            try run(statements, in: store, as: random.pick(Way.allCases))
            try store.remember()
        }
    }

    private mutating func fresh() -> String {
        count += 1
        switch count % 4 {
        case 1: return "\u{e9}\(count)"
        case 3: return "e\u{301}\(count)"
        default: return "n\(count)"
        }
    }

    private mutating func renameTable(in store: SimulatedStore) -> [String] {
        let place = random.below(store.schema.tableNames.count)
        let name = store.schema.tableNames[place]
        var new = fresh()
        switch random.below(5) {
        case 0 where store.schema.tableNames.count > 1:
            let other = (place + 1) % store.schema.tableNames.count
            let second = store.schema.tableNames[other]
            store.schema.tableNames.swapAt(place, other)
            return [(name, new), (second, name), (new, second)].map(Self.table)
        case 1:
            // SQLite takes a table in another case for one that exists.
            store.schema.tableNames[place] = Self.cased(name)
            return [Self.table(name, new), Self.table(new, Self.cased(name))]
        case 2:
            if let table = wanted.table, store.addedTable == nil,
                !store.hasDroppedTable, !store.hasTable(table)
            {
                new = table
            }
        default: break
        }
        store.schema.tableNames[place] = new
        return [Self.table(name, new)]
    }

    private mutating func renameColumn(in store: SimulatedStore) -> [String] {
        let place = random.below(store.schema.tableNames.count)
        let table = store.schema.tableNames[place]
        let names = store.schema.columnNames[place]
        let free = names.indices.filter {
            !spared.contains(store.schema.merge.entities[place].columns[$0].name)
        }
        let column = random.pick(free)
        let name = names[column]
        func sql(_ old: String, _ new: String) -> String {
            "ALTER TABLE \(table) RENAME COLUMN \(old) TO \(new)"
        }
        var new = fresh()
        switch random.below(5) {
        case 0 where free.count > 1:
            let other = free.first { $0 != column } ?? column
            store.schema.columnNames[place].swapAt(column, other)
            return [sql(name, new), sql(names[other], name), sql(new, names[other])]
        case 1: new = Self.cased(name)
        case 2:
            let isFree = !names.contains { $0.lowercased() == wanted.column.lowercased() }
            if !store.hasGrown, isFree { new = wanted.column }
        default: break
        }
        store.schema.columnNames[place][column] = new
        return [sql(name, new)]
    }

    private static func table(_ old: String, _ new: String) -> String {
        "ALTER TABLE \(old) RENAME TO \(new)"
    }

    /// A name that Swift, or SQLite, takes for the same one.
    private static func cased(_ name: String) -> String {
        let scalars = Array(name.unicodeScalars.prefix(2).map(\.value))
        if scalars.first == 0xe9 { return "e\u{301}\(name.dropFirst())" }
        if scalars == [0x65, 0x301] { return "\u{e9}\(name.dropFirst())" }
        let upper = name.uppercased()
        return name == upper ? name.lowercased() : upper
    }

    private mutating func run(
        _ statements: [String], in store: SimulatedStore, as way: Way
    ) throws {
        if way == .command {
            _ = try Store.alter(store.path, running: statements.joined(separator: ";"))
            try store.willCommit()
            return
        }
        // A rename leaves its trace in the triggers: these have to be there.
        if store.hasLostTriggers {
            _ = try store.replica.vector
            store.hasLostTriggers = false
        }
        store.hasUnseenNames = true
        let legacy = "PRAGMA legacy_alter_table ="
        if way == .legacy { try store.database.run("\(legacy) ON -- \(fresh())") }
        try store.database.run("BEGIN IMMEDIATE")
        for statement in statements { try store.database.run(statement) }
        try store.database.run("COMMIT")
        guard way == .legacy else { return }
        try store.database.run("\(legacy) OFF -- \(fresh())")
        // SQLite leaves the old name in the triggers, which fail until they are made again.
        try store.see()
    }
}

extension SimulatedStore {
    /// The present name of a table.
    /// - Parameter first: its name at the beginning.
    func table(_ first: String) -> String { schema.tableNames[place(of: first)] }

    /// The present names of the columns of a table.
    /// - Parameter first: the name of the table at the beginning.
    func columns(of first: String) -> [String] { schema.columnNames[place(of: first)] }

    private func place(of first: String) -> Int {
        schema.merge.entities.firstIndex { $0.name == first } ?? 0
    }

    /// Whether a table of the schema bears a name, in any case.
    func hasTable(_ name: String) -> Bool { placeOfTable(called: name) != nil }

    private func placeOfTable(called name: String) -> Int? {
        schema.tableNames.firstIndex { $0.lowercased() == name.lowercased() }
    }

    /// Gives a table that bears a name another one.
    func free(table name: String) throws {
        guard let place = placeOfTable(called: name) else { return }
        let new = "\(name)_freed"
        if hasLostTriggers { try see() }
        try database.run("ALTER TABLE \(name) RENAME TO \(new)")
        schema.tableNames[place] = new
        try see()
    }

    /// Gives a column of a table that bears a name another one.
    /// - Parameter first: the name of the table at the beginning.
    func free(column name: String, of first: String) throws {
        let place = place(of: first)
        let names = schema.columnNames[place].map { $0.lowercased() }
        guard let column = names.firstIndex(of: name.lowercased()) else { return }
        let new = "\(name)_freed"
        if hasLostTriggers { try see() }
        try database.run("ALTER TABLE \(table(first)) RENAME COLUMN \(name) TO \(new)")
        schema.columnNames[place][column] = new
        try see()
    }

    /// The replica reads the file. A rebuild, or the loss of the triggers, would hide what was
    /// renamed before.
    func see() throws {
        _ = try replica.vector
        (hasUnseenNames, hasLostTriggers) = (false, false)
        try remember()
    }
}
