import SyncClient
import SyncCore
import Varlink

/// A transaction as the page shows it: a large one is cut.
struct PageTransaction {
    /// Changes that are sent of one transaction: more are not read one by one.
    static let changesMax = 100

    let transaction: Transaction

    init(_ transaction: Transaction) { self.transaction = transaction }

    /// `type Transaction` of the interface, and `isCut` when it has more changes.
    var json: JSONValue {
        var shown = transaction
        let isCut =
            transaction.part?.isLast == false || transaction.changes.count > Self.changesMax
        if isCut { shown.changes = Array(shown.changes.prefix(Self.changesMax)) }
        guard
            var object = (try? JSONParser.parse(String(decoding: shown.json, as: UTF8.self)))?
                .object
        else { return .null }
        if isCut { object["isCut"] = true }
        return .object(object)
    }
}
