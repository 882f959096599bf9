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
