import SyncClient
import SyncReplica
import Varlink

/// The figures of `status --check`: after `|` as monitoring plugins write them, where `U` is a
/// value that is not known.
struct CheckSummary {
    private let counts: [(name: String, value: Int64?)]

    init(_ overview: DaemonOverview, stores: [StoreOverview], now: Timestamp = .now()) {
        let remotes = stores.flatMap(\.remotes)
        let lags = remotes.compactMap(\.behindSince).map { since in
            max(0, now.milliseconds - since.milliseconds) / 1000
        }
        let unsent = remotes.compactMap(\.behind).reduce(0, +)
        // What one lacks that was not reached since the daemon was started is not known. What is
        // known of others is said, unless it is nothing.
        let isUnknown = remotes.contains(where: \.isUnknown)
        counts = [
            ("stores", Int64(stores.count)),
            ("open", Int64(stores.count { $0.store.state == .open })),
            ("clients", overview.process.clients),
            ("pending", stores.reduce(0) { $0 + ($1.contents?.pendingRows ?? 0) }),
            ("conflicts", stores.reduce(0) { $0 + ($1.contents?.conflicts ?? 0) }),
            ("unsent", unsent == 0 && isUnknown ? nil : unsent),
            ("lagSeconds", lags.max() ?? (isUnknown ? nil : 0)),
        ]
    }

    var line: String {
        let (all, open) = (counts[0].value ?? 0, counts[1].value ?? 0)
        let figures = counts.map { "\($0.name)=" + ($0.value.map { "\($0)" } ?? "U") }
        return "\(open) of \(Plural.text(Int(all), of: "store")) open | "
            + figures.joined(separator: " ")
    }

    var json: JSONObject {
        var object = JSONObject()
        for count in counts { object[count.name] = count.value.map { .integer($0) } ?? .null }
        return object
    }
}
