extension StoreSimulation {
    /// What the schedules are like.
    package enum Schedules: String, CaseIterable, Sendable {
        /// Everything that a schema may have, and every constraint in each other's way.
        case ordinary
        /// What most stores look like (``PlainSchema``): rows that few others claim or repair.
        case plain
        /// Such schemas, of which writers choose the same rows, keys and values, and constraints
        /// that come and go.
        case crowded
        /// Schemas as most programs have them, and transactions of many rows (``SimpleSchema``).
        case simple
        /// Ordinary ones in which replicas change their schemas at the same time.
        case migrating
        /// Schemas with many UNIQUE indexes over references, and writers without foreign keys, who
        /// refer to rows that are not there.
        case loose
        /// Plain ones in which rows refer to a table that some replicas do not synchronise yet
        /// (``ParentGrowth``).
        case orphaned
        /// Ordinary ones in which a constraint over two columns comes and goes: what is one cell at
        /// one replica is two at another (``ConstraintTightening``).
        case tied
    }
}

/// The schemas of each kind of schedules.
extension StoreSimulation.Schedules {
    /// Whether the tables and constraints of the schema stay as they are.
    var isLasting: Bool { self == .loose || self == .orphaned }

    /// Draws a schema.
    func schema(_ random: inout SeededRandom) -> SimulatedSchema {
        switch self {
        case .ordinary, .migrating, .tied: RandomSchema.draw(&random, convertsReferences: true)
        case .plain, .orphaned: PlainSchema.draw(&random, isCrowded: false)
        case .simple: SimpleSchema.draw(&random)
        case .loose: RandomSchema.draw(&random, isLoose: true, convertsReferences: true)
        case .crowded: PlainSchema.draw(&random, isCrowded: true)
        }
    }
}
