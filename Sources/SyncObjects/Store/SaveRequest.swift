import SyncCore

/// What a context writes in one save, completely or not at all.
struct SaveRequest: Sendable {
    struct Insert: Sendable {
        let entity: EntityLayout
        let id: ManagedObjectID
        let values: [Value]
    }

    struct Update: Sendable {
        let entity: EntityLayout
        let id: ManagedObjectID
        /// The row as the context had read it.
        let old: [Value]
        let new: [Value]
    }

    struct Delete: Sendable {
        let entity: EntityLayout
        let id: ManagedObjectID
        let old: [Value]
        let cause: GoneCause
    }

    /// Pairs of a many-to-many relationship.
    struct Pair: Sendable, Hashable {
        let source: Value
        let target: Value
    }

    struct JoinEdit: Sendable {
        let join: JoinLayout
        var added: [Pair: PairOrder] = [:]
        var removed: Set<Pair> = []

        var isEmpty: Bool { added.isEmpty && removed.isEmpty }
    }

    struct PairOrder: Sendable {
        var target: Value = .null
        var source: Value = .null
    }

    var inserts: [Insert] = []
    var updates: [Update] = []
    /// A deletion comes before those that its delete rules cause.
    var deletes: [Delete] = []
    var joins: [JoinEdit] = []
    /// Rows that must equal what the context had read, and are not written.
    var checks: [Update] = []
    var author: String?
    var contextName: String?

    var isEmpty: Bool {
        inserts.isEmpty && updates.isEmpty && deletes.isEmpty
            && joins.allSatisfy(\.isEmpty)
    }
}
