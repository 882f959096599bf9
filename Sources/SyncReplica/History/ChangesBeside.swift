import SyncCore
import SyncMerge

/// What a merge has changed in the tables already when the differences of its region are written.
struct ChangesBeside {
    /// A change of one transaction.
    struct Item {
        let object: ObjectUID
        /// The change, under its number in history; nil where its table is not tracked.
        let change: (_ seq: Int64) -> NetChange?
    }

    /// The objects whose changes these are; the region changes none of them.
    let objects: Set<ObjectUID>
    /// The changes of a transaction, in their order there.
    let items: (Dot) -> [Item]
    /// Writes the conflicts that were opened or closed by them, after history.
    let writeConflicts: () throws -> Void
}
