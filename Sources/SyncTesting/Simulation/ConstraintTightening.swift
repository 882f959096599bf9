import Foundation
import SyncMerge

/// A constraint that the replicas of a simulation get at different moments, as a migration does
/// that cleans the rows first: texts that several rows have are changed or their rows deleted, or
/// NULL gets a text; then a UNIQUE index or NOT NULL comes, before any replica has read the file.
///
/// Some of the indexes have another column, too, or a CHECK comes over both, which accepts
/// everything: then the columns are one cell where the constraint is, and two elsewhere. Such an
/// index goes again.
struct ConstraintTightening {
    /// What comes.
    private enum Kind { case index, required, check }

    private static let column = "d"

    /// The columns under the constraint, which must keep their names.
    let columns: Set<String>
    private let entity: MergeEntity
    private let kind: Kind
    /// The columns of the index, or of the CHECK.
    private let terms: [String]
    private var random: SeededRandom
    /// The files that have the constraint.
    private var tightened: Set<String> = []
    /// Counts its texts, and its pragmas, apart from those of others.
    private var count = 2_000_000

    /// Draws the constraint.
    /// - Parameter isTying: whether it makes several columns one cell.
    /// - Returns: nil: this seed gets none.
    init?(_ schema: SimulatedSchema, seed: UInt64, isTying: Bool) {
        var random = SeededRandom(seed: seed &+ 0x18_0000_0000)
        guard isTying || random.chance(0.35) else { return nil }
        let entity = random.pick(schema.merge.entities)
        let kind = random.pick([Kind.index, .index, isTying ? .check : .required])
        let others = entity.columns.indices.filter { place in
            !entity.key.contains(place) && entity.columns[place].name != Self.column
        }
        let hasOther = kind != .required && !others.isEmpty && (isTying || random.chance(0.6))
        terms = [Self.column] + (hasOther ? [entity.columns[random.pick(others)].name] : [])
        columns = Set(terms)
        self.entity = entity
        self.kind = kind
        self.random = random
    }

    /// Gives one of the replicas rows to clean, or the constraint, or does nothing.
    mutating func step(_ stores: [SimulatedStore]) throws {
        guard random.chance(0.4) else { return }
        let store = random.pick(stores)
        if tightened.contains(store.path) {
            if terms.count > 1, kind == .index, random.chance(0.3) { try loosen(store) }
            return
        }
        if random.chance(0.6) { try spoil(store) } else { try tighten(store) }
    }

    /// Every replica has the constraint from now on.
    mutating func finish(_ stores: [SimulatedStore]) throws {
        for store in stores where !tightened.contains(store.path) { try tighten(store) }
    }

    private mutating func loosen(_ store: SimulatedStore) throws {
        tightened.remove(store.path)
        try store.database.run("DROP INDEX \(entity.name)_tight")
    }

    private mutating func text() -> Value {
        count += 1
        return .text("clean \(count)")
    }

    /// Writes what the constraint will not allow: one text, or NULL, in two rows.
    private mutating func spoil(_ store: SimulatedStore) throws {
        let bad: Value = kind == .index ? text() : .null
        let rows = try rows(of: store)
        guard !rows.isEmpty else { return }
        try store.database.run("BEGIN IMMEDIATE")
        for _ in 0..<2 { try write(bad, to: random.pick(rows).key, of: store) }
        try commit(store)
    }

    private mutating func tighten(_ store: SimulatedStore) throws {
        tightened.insert(store.path)
        let isAtOnce = kind == .index && random.chance(0.5)
        try store.database.run("BEGIN IMMEDIATE")
        try clean(store)
        if !isAtOnce { try commit(store) }
        let table = store.table(entity.name)
        if kind == .index {
            try store.database.run(
                "CREATE UNIQUE INDEX \(entity.name)_tight ON \(table)"
                    + "(\(terms.joined(separator: ", ")))")
            if isAtOnce { try commit(store) }
            return
        }
        let both = terms.map { "\($0) IS NULL" }.joined(separator: " OR ")
        let constraint = kind == .check ? " CHECK(\(both) OR true)" : " NOT NULL"
        try TableRebuild(table, in: store).run(
            isAtOnce: random.chance(0.7), number: count
        ) { definition in
            let old = "\(Self.column) TEXT"
            guard let place = definition.range(of: old) else { return definition }
            return definition.replacingCharacters(in: place, with: old + constraint)
        }
        try store.remember()
    }

    /// Changes what the constraint does not allow; of rows with one text it deletes some.
    private mutating func clean(_ store: SimulatedStore) throws {
        var seen: Set<Value> = []
        for (key, value) in try rows(of: store) {
            let isBad: Bool
            switch kind {
            case .index: isBad = value != .null && !seen.insert(value).inserted
            case .required: isBad = value == .null
            case .check: isBad = false
            }
            guard isBad else { continue }
            if kind == .index, random.chance(0.4), try delete(key, of: store) { continue }
            try write(text(), to: key, of: store)
        }
    }

    // MARK: Statements

    /// The keys of the rows and their texts, in the order of the keys.
    private func rows(of store: SimulatedStore) throws -> [(key: [Value], value: Value)] {
        let list = keys(of: store).joined(separator: ", ")
        let rows = try store.database.run(
            "SELECT \(Self.column), \(list) FROM \(store.table(entity.name)) ORDER BY \(list)")
        return (rows ?? []).map { (Array($0.dropFirst()), $0[0]) }
    }

    private func keys(of store: SimulatedStore) -> [String] {
        entity.key.map { store.columns(of: entity.name)[$0] }
    }

    private func matches(_ store: SimulatedStore) -> String {
        keys(of: store).map { "\($0) IS ?" }.joined(separator: " AND ")
    }

    private func write(_ value: Value, to key: [Value], of store: SimulatedStore) throws {
        try store.database.run(
            "UPDATE \(store.table(entity.name)) SET \(Self.column) = ? WHERE \(matches(store))",
            with: [value] + key)
    }

    /// Whether a row could be deleted: nothing forbade it.
    private func delete(_ key: [Value], of store: SimulatedStore) throws -> Bool {
        try store.database.run(
            "DELETE FROM \(store.table(entity.name)) WHERE \(matches(store))", with: key) != nil
    }

    private func commit(_ store: SimulatedStore) throws {
        try store.willCommit()
        try store.database.run("COMMIT")
        try store.remember()
    }
}
