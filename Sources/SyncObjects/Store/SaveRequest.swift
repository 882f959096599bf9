import SyncCore

/// What a context wants written: everything, or nothing.
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
    }

    struct PairOrder: Sendable {
        var target: Value = .null
        var source: Value = .null
    }

    var inserts: [Insert] = []
    var updates: [Update] = []
    /// Those that a deletion took with it come after it.
    var deletes: [Delete] = []
    var joins: [JoinEdit] = []
    /// Rows that must be what the context had read, and are not written.
    var checks: [Update] = []
    var author: String?
    var contextName: String?

    var isEmpty: Bool {
        inserts.isEmpty && updates.isEmpty && deletes.isEmpty
            && joins.allSatisfy { $0.added.isEmpty && $0.removed.isEmpty }
    }
}

/// What a save, here or elsewhere, did to the store. Contexts merge it.
struct StoreChange: Sendable {
    var inserted: [StoredRow] = []
    var updated: [StoredRow] = []
    var deleted: [(entity: EntityLayout, id: ManagedObjectID, gone: Gone)] = []
    /// Owners whose many-to-many relationships changed.
    var joins: Set<String> = []
    /// Objects that somebody outside of this process made or changed. Their rows are read by those
    /// who need them.
    var foreign: [Foreign] = []
    /// Roots of which nothing is known in detail: look at all of their objects again.
    var unseen: Set<String> = []
    /// The store's file is gone, or another one.
    var isLost = false
    /// The end of the log after the change; 0 where it does not matter, or there is no history.
    var position: Int64 = 0
    /// What the save did beyond the request, or otherwise than it said: rows whose values are not
    /// those of the request, and deletions that it does not name.
    var corrected: [ManagedObjectID: StoredRow] = [:]
    var unasked: Set<ManagedObjectID> = []
    /// Ids that were temporary, with what they became.
    var renamed: [ManagedObjectID: ManagedObjectID] = [:]

    struct Foreign: Sendable {
        let root: EntityLayout
        let id: ManagedObjectID
        let isNew: Bool
    }

    var isEmpty: Bool {
        inserted.isEmpty && updated.isEmpty && deleted.isEmpty && joins.isEmpty && foreign.isEmpty
            && unseen.isEmpty && !isLost
    }
}

/// Why one object of a save cannot be written.
struct SaveConflict: Error, Sendable {
    enum Kind: Sendable {
        /// The row is not what the context had read.
        case changed(stored: StoredRow)
        /// The row is gone.
        case deleted
        /// The row to be deleted is not what the context had read.
        case deleteOfChanged(stored: StoredRow)
        /// Another row has the same unique values.
        case constraint(columns: [String], other: StoredRow?)
    }

    let id: ManagedObjectID
    let kind: Kind
}

struct SaveConflicts: Error {
    let conflicts: [SaveConflict]
}
