import SyncCore

/// Of which store, and of which epoch of it, tokens are: those of another era lead nowhere.
struct StoreEra: Equatable {
    private let store: StoreID
    private let epoch: Int64

    init(_ store: Store) {
        self.store = store.id
        epoch = store.epoch
    }
}
