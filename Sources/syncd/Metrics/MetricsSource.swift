import SyncClient
import Varlink

/// Which metrics are shown to whom (``MetricsOptions/Stores``).
struct MetricsSource: Sendable {
    private let stores: MetricsOptions.Stores
    private let overview: @Sendable (PeerIdentity) async throws -> DaemonOverview
    private let shared: SharedOverview

    /// - Parameter overview: that of the stores that a caller may see.
    init(
        _ stores: MetricsOptions.Stores,
        overview: @escaping @Sendable (PeerIdentity) async throws -> DaemonOverview
    ) {
        self.stores = stores
        self.overview = overview
        let root = PeerIdentity(pid: 0, uid: 0, gid: 0, groups: [])
        shared = SharedOverview { try await overview(root) }
    }

    /// The text for one who asks.
    ///
    /// - Parameter peer: nil over TCP, where nobody is identified.
    /// - Throws: ``SyncError`` when the daemon stops.
    func text(for peer: PeerIdentity?, as format: MetricsText.Format) async throws -> String {
        if stores == .permitted, let peer {
            return MetricsText(try await overview(peer), format: format).text
        }
        return MetricsText(
            try await shared.overview(), format: format, namesStores: stores == .all
        ).text
    }
}
