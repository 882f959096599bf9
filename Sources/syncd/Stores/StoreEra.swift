import SyncCore

/// The store and its epoch, of which tokens are: a token of another era has no position here.
struct StoreEra: Equatable {
    private let store: StoreID
    private let epoch: Int64

    init(_ store: Store) {
        self.store = store.id
        epoch = store.epoch
    }
}
