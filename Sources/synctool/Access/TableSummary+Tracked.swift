import SyncClient

extension TableSummary {
    var isTracked: Bool { outcome == "tracked" }
}
