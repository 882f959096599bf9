import Foundation
import SyncCore
import SyncMerge

/// A constraint that the replicas of a simulation lose at different moments, as a migration does
/// that allows more than before: what one replica writes then, another one cannot show until it
/// has lost the constraint, too.
struct ConstraintLoosening {
    /// What goes.
    private enum Kind { case index, constraint }

    /// The columns of the constraint, which must keep their names.
    static let columns: Set<String> = ["u"]
    private static let constraint = "UNIQUE(u)"

    private let table: String
    private let kind: Kind
    private var random: SeededRandom
    /// The files that have lost it.
    private var loosened: Set<String> = []
    /// Counts its pragmas, apart from those of others.
    private var count = 1_000_000

    /// Draws the constraint.
    /// - Returns: nil: the constraints of this seed stay.
    init?(_ schema: SimulatedSchema, seed: UInt64) {
        var random = SeededRandom(seed: seed &+ 0x11_0000_0000)
        guard random.chance(0.35) else { return nil }
        // One over several columns ties them: replicas with and without it state different cells.
        var choices: [(table: String, kind: Kind)] = []
        for (position, entity) in schema.merge.entities.enumerated() {
            if schema.indexes[position] != nil {
                choices.append((entity.name, .index))
            }
            if schema.tables[position].contains(Self.constraint) {
                choices.append((entity.name, .constraint))
            }
        }
        guard !choices.isEmpty else { return nil }
        let choice = random.pick(choices)
        table = choice.table
        kind = choice.kind
        self.random = random
    }

    /// Takes the constraint from one of the replicas, or does nothing.
    mutating func step(_ stores: [SimulatedStore]) throws {
        guard random.chance(0.3) else { return }
        let store = random.pick(stores)
        if !loosened.contains(store.path) { try loosen(store) }
    }

    /// No replica has the constraint from now on.
    mutating func finish(_ stores: [SimulatedStore]) throws {
        for store in stores where !loosened.contains(store.path) { try loosen(store) }
    }

    private mutating func loosen(_ store: SimulatedStore) throws {
        loosened.insert(store.path)
        if kind == .index {
            let sql = "DROP INDEX IF EXISTS \(table)_index"
            if random.chance(0.5) {
                _ = try Store.alter(store.path, running: sql)
                try store.willCommit()
            } else {
                try store.database.run(sql)
            }
            return
        }
        count += 1
        try TableRebuild(store.table(table), in: store).run(
            isAtOnce: random.chance(0.7), number: count
        ) {
            $0.replacingOccurrences(of: ", \(Self.constraint)", with: "")
        }
    }
}
