import SyncClient
import SyncReplica
import Varlink

/// The figures of `status --check`: after `|` as monitoring plugins write them.
struct CheckSummary {
    private let counts: [(name: String, value: Int64)]

    init(_ overview: DaemonOverview, stores: [StoreOverview], now: Timestamp = .now()) {
        let lags = stores.flatMap(\.remotes).compactMap(\.behindSince).map { since in
            max(0, now.milliseconds - since.milliseconds) / 1000
        }
        counts = [
            ("stores", Int64(stores.count)),
            ("open", Int64(stores.count { $0.store.state == .open })),
            ("clients", overview.process.clients),
            ("pending", stores.reduce(0) { $0 + ($1.contents?.pendingRows ?? 0) }),
            ("conflicts", stores.reduce(0) { $0 + ($1.contents?.conflicts ?? 0) }),
            ("unsent", stores.flatMap(\.remotes).reduce(0) { $0 + $1.behind }),
            ("lagSeconds", lags.max() ?? 0),
        ]
    }

    var line: String {
        let stores = "\(counts[1].value) of \(Plural.text(Int(counts[0].value), of: "store")) open"
        return "\(stores) | " + counts.map { "\($0.name)=\($0.value)" }.joined(separator: " ")
    }

    var json: JSONObject {
        var object = JSONObject()
        for count in counts { object[count.name] = .integer(count.value) }
        return object
    }
}
