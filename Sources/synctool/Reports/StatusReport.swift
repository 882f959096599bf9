import SyncClient
import Varlink

/// All that is known of a store, and who said it.
struct StatusReport: Sendable {
    /// The file itself was read; nobody watches it as far as this command knows.
    let isDirect: Bool
    let report: StoreReport

    var store: StoreSummary { report.store }

    /// The reply of `Status`, and `daemon`: whether one gave it.
    var json: JSONObject {
        var object = report.jsonObject
        object["daemon"] = .bool(!isDirect)
        return object
    }
}
