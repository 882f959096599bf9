import SyncCore
import SyncStorage

/// A store that is open and watched: what one opening of ``StoreHub`` made.
struct OpenedStore: Sendable {
    let store: Store
    /// Watches it: the one of its owner's stores.
    let watcher: StoreWatcher
    let watch: StoreWatcher.WatchID
    /// Which opening of the hub this is; events and pages of an earlier one are dropped by it.
    let generation: Int
    let journal: BoundaryJournal

    /// The file that is open.
    var file: FileIdentity { store.file }
    var era: StoreEra { StoreEra(store) }
}
