import SyncClient
import Varlink

/// The status of a store, and where it comes from.
struct StatusReport: Sendable {
    /// Why the file itself was read; nil: the daemon answered.
    let directReason: FileAccess.Reason?
    let report: StoreReport

    var store: StoreSummary { report.store }

    /// The reply of the method `Status`, and `daemon`: whether the daemon sent it.
    var json: JSONObject {
        var object = report.jsonObject
        object["daemon"] = .bool(directReason == nil)
        return object
    }
}
