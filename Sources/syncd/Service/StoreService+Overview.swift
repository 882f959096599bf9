import Glibc
import SyncClient
import SyncCore
import Varlink

/// `Overview`: numbers about all stores that a caller may see, for people and for monitoring.
extension StoreService {
    func addOverview(_ interface: inout ServedInterface) {
        interface.on("Overview") { call in try await overview(for: call.peer).jsonObject }
        interface.on("Configuration") { [configuration] call in
            guard Self.maySeeConfiguration(call.peer) else {
                throw SyncError(
                    .notAllowed, "only root and the daemon's user see its configuration",
                    hint: "Run: sudo synctool config")
            }
            let settings = configuration.current?.settings ?? []
            return ["settings": .array(settings.map { .object($0.jsonObject) })]
        }
    }

    private static func maySeeConfiguration(_ peer: PeerIdentity) -> Bool {
        [0, geteuid()].contains(peer.uid)
    }

    /// How this process and those of its stores that the caller may see are doing.
    ///
    /// - Throws: ``SyncError`` when the daemon stops.
    func overview(for peer: PeerIdentity) async throws -> DaemonOverview {
        var stores = try await pool.run(for: peer.uid) { [registry] in
            registry.visible(to: peer).map { store in store.hub.marked { store.overview() } }
        }
        for index in stores.indices {
            stores[index].remotes = await replicator.status(of: stores[index].store.path)
        }
        var overview = DaemonOverview(process: meters.process, stores: stores)
        let maySeeWhy = Self.maySeeConfiguration(peer)
        overview.reloadFailure = meters.reloadFailure.map { maySeeWhy ? $0 : $0.withoutReason }
        return overview
    }
}

extension PermittedStore {
    /// How the store is doing, without its remotes. Blocks.
    fileprivate func overview() -> StoreOverview {
        let path = hub.path
        var overview = StoreOverview(
            store: summary(), databaseBytes: Self.size(path), walBytes: Self.size(path + "-wal"))
        // What was counted of another file is not for who may read this one.
        if !isReplaced, barrier == nil { overview.traffic = hub.state.traffic }
        if let openedNow {
            overview.contents = try? hub.contents(of: openedNow)
            if hub.isCurrent(openedNow) {
                hub.forgetRemade(openedNow.store)
                hub.noteLinks()
                overview.troubles = hub.state.troubles
            }
        }
        return overview
    }
}
