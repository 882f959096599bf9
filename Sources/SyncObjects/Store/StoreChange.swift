import SyncCore

/// A change of the store, as contexts are notified of it. Contexts merge it.
enum StoreChange: Sendable {
    /// A context of this process saved. The rows are included.
    case saved(SavedChange)
    /// Others committed transactions that history describes: what was changed and deleted, without
    /// rows.
    case committed(CommittedChange)
    /// Another connection committed, and history does not describe it: every held object of these
    /// hierarchies is read again.
    case unknown(roots: Set<String>)
    /// The store's file was removed or replaced.
    case storeLost

    /// There is nothing to merge.
    var isEmpty: Bool {
        switch self {
        case .saved(let change): return change.isEmpty
        case .committed(let change): return change.isEmpty
        case .unknown(let roots): return roots.isEmpty
        case .storeLost: return false
        }
    }
}

/// One object that was deleted.
struct DeletedObject: Sendable {
    let id: ManagedObjectID
    let gone: Gone
}

/// What a save of this process wrote.
struct SavedChange: Sendable {
    var inserted: [StoredRow] = []
    var updated: [StoredRow] = []
    var deleted: [DeletedObject] = []
    /// Join tables whose pairs changed.
    var joinTables: Set<String> = []
    /// The end of the log after the save; 0 where it does not matter, or there is no history.
    var logPosition: Int64 = 0

    var isEmpty: Bool {
        inserted.isEmpty && updated.isEmpty && deleted.isEmpty && joinTables.isEmpty
    }
}

/// What others committed, as history describes it.
struct CommittedChange: Sendable {
    /// An object that was inserted or updated. Contexts that hold it read its row.
    struct Changed: Sendable {
        let root: EntityLayout
        let id: ManagedObjectID
        let isNew: Bool
    }

    var changed: [Changed] = []
    var deleted: [DeletedObject] = []
    /// Join tables whose pairs changed.
    var joinTables: Set<String> = []

    var isEmpty: Bool { changed.isEmpty && deleted.isEmpty && joinTables.isEmpty }
}
