import SyncClient
import SyncCore
import SyncStorage
import Varlink

/// A store as one call may use it: the permission of the caller and the file that is open were
/// checked together (``StoreRegistry/store(_:for:need:)``).
struct PermittedStore: Sendable {
    let hub: StoreHub
    /// What was open when the caller's permission was checked, and is the file that the caller may
    /// open; nil: nothing.
    let openedNow: OpenedStore?
    /// Another file is at the path than the one that is open.
    var isReplaced = false
    /// Why the daemon cannot look at the file (``PathBarrier``).
    var barrier: SyncError?

    /// - Throws: ``SyncError``: why the store is not open.
    func opened() throws -> OpenedStore {
        if let openedNow { return openedNow }
        if let barrier { throw barrier }
        if !isReplaced { _ = try hub.opened() }
        throw hub.isBeingOpened
    }

    /// - Throws: ``SyncError``: why the store is not open.
    func store() throws -> Store { try opened().store }

    /// A caller, as the consumers of the store know it.
    func caller(_ peer: PeerIdentity) -> ConsumerOwners.Caller {
        let found = FileOwnership(of: hub.path)
        let isOpen = found?.file == openedNow?.file
        return .init(uid: peer.uid, fileOwner: isOpen ? found?.owner : nil)
    }

    /// How the store is, for lists.
    func summary() -> StoreSummary {
        guard let barrier else { return hub.summary(showing: openedNow) }
        return StoreSummary(
            path: hub.path, state: .failed, id: nil, replica: nil, head: nil, subscribers: 0,
            error: barrier)
    }
}
