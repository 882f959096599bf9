import SyncMerge
import SyncStorage

/// The tables and columns of this database that the store's schema calls otherwise, by identity:
/// how they get the names of the store.
struct SchemaRenames {
    private typealias Difference = SchemaComparison.Difference

    /// The statements, in an order in which no name is taken.
    private(set) var changes: [SchemaComparison.Change] = []
    /// What cannot be renamed.
    private(set) var differences: [SchemaComparison.Difference] = []
    /// The names of this database after the changes.
    private(set) var names: SchemaNames

    private let theirs: SchemaNames
    private let isConcurrent: Bool

    /// One thing to be renamed.
    private struct Item {
        let identity: String
        var name: String
        let wanted: String
    }

    /// - Parameters:
    ///   - theirs: the names of the store.
    ///   - names: those of the tracked tables here.
    ///   - taken: the names of all tables and views here.
    ///   - columns: those of a table here.
    ///   - isConcurrent: whether the other replica may not have known the present names.
    /// - Complexity: O(n²) in what is renamed
    init(
        to theirs: SchemaNames, from names: SchemaNames, taken: [String],
        columns: (String) -> [String], isConcurrent: Bool
    ) {
        self.names = names
        self.theirs = theirs
        self.isConcurrent = isConcurrent
        let tables = names.entities.compactMap { entity -> Item? in
            Self.item(entity.identity, entity.name, theirs.entity(entity.identity)?.name)
        }
        let renamed = rename(tables, taken: taken, of: nil) { old, new in
            "ALTER TABLE \(SQLName.quoted(old)) RENAME TO \(SQLName.quoted(new))"
        }
        self.names = names.renaming(tables: renamed, columns: [:])
        var newColumns: [String: [String: String]] = [:]
        for (before, entity) in zip(names.entities, self.names.entities) {
            guard let table = entity.name, let former = before.name else { continue }
            let items = entity.columns.compactMap { column in
                Self.item(
                    column.identity, column.name,
                    theirs.column(column.identity, of: entity.identity)?.name)
            }
            newColumns[SQLName.folded(entity.identity)] = rename(
                items, taken: columns(former), of: table
            ) { old, new in
                "ALTER TABLE \(SQLName.quoted(table)) RENAME COLUMN \(SQLName.quoted(old)) TO "
                    + SQLName.quoted(new)
            }
        }
        self.names = self.names.renaming(tables: [:], columns: newColumns)
    }

    private static func item(_ identity: String, _ name: String?, _ wanted: String?) -> Item? {
        guard let name, let wanted, !SQLName.isEqual(name, to: wanted) else { return nil }
        return Item(identity: identity, name: name, wanted: wanted)
    }

    /// Takes names one after the other: each when nothing has it any more. Where names are
    /// exchanged, one thing gets a name of its own in between.
    /// - Returns: the new names by folded identity.
    private mutating func rename(
        _ items: [Item], taken: [String], of table: String?, sql: (String, String) -> String
    ) -> [String: String] {
        var waiting = items
        var taken = Set(taken.map(SQLName.folded))
        var renamed: [String: String] = [:]
        func title(_ name: String) -> String { table.map { "\($0).\(name)" } ?? name }
        if isConcurrent {
            for item in items {
                differences.append(
                    Difference(
                        name: title(item.name),
                        reason: "it was named here and, elsewhere at the same time, "
                            + "'\(item.wanted)'",
                        remedy: "to take that name: \(sql(item.name, item.wanted))"))
            }
            return [:]
        }
        func append(_ item: Item, to name: String) {
            changes.append(
                SchemaComparison.Change(
                    kind: table == nil ? .renameTable : .renameColumn, name: title(item.name),
                    sql: sql(item.name, name), object: nil))
            taken.remove(SQLName.folded(item.name))
            taken.insert(SQLName.folded(name))
        }
        while !waiting.isEmpty {
            if let place = waiting.firstIndex(where: {
                !taken.contains(SQLName.folded($0.wanted))
            }) {
                let item = waiting.remove(at: place)
                append(item, to: item.wanted)
                renamed[SQLName.folded(item.identity)] = item.wanted
                continue
            }
            let isExchanged = { (item: Item) in
                waiting.contains { SQLName.isEqual($0.name, to: item.wanted) }
            }
            if let stuck = waiting.firstIndex(where: { !isExchanged($0) }) {
                let item = waiting.remove(at: stuck)
                differences.append(
                    Difference(
                        name: title(item.name),
                        reason: "the store calls it '\(item.wanted)', and something else here has "
                            + "that name",
                        remedy: "rename or drop what has that name, then: "
                            + sql(item.name, item.wanted)))
                continue
            }
            var name = waiting[0].name + " (renamed)"
            while taken.contains(SQLName.folded(name)) { name += "~" }
            append(waiting[0], to: name)
            waiting[0].name = name
        }
        return renamed
    }
}
