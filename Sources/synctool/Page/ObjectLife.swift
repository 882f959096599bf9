import SyncClient
import SyncCore
import Varlink

/// All that the history knows of one object: each change with the values before and after it.
enum ObjectLife {
    /// Changes that are shown, the newest.
    private static let changesMax = 100

    /// - Throws: ``SyncError``: as `synctool show`.
    static func json(of text: String, in path: String) throws -> JSONObject {
        let name = try ObjectName(path: text)
        // A page that only looks repairs nothing.
        let store = try Store.open(path, isResolved: false, isMending: false)
        defer { try? store.close() }
        let head = try store.head()
        let now = try store.object(name, asOf: head)
        var query = HistoryQuery()
        query.object = name
        query.reverse = true
        query.limit = changesMax
        let events = try store.history(query).map { transaction in
            let new = try store.newValues(of: transaction.changes, asOf: transaction.token)
            var object = PageTransaction(transaction).json.object ?? JSONObject()
            object["values"] = .array(
                transaction.changes.map { new[$0.seq].map(PageValues.json) ?? .null })
            return JSONValue.object(object)
        }
        return [
            "now": PastText.json(now, of: name, at: head)["values"] ?? .null,
            "isPresent": .bool(now.isPresent), "events": .array(events),
        ]
    }
}
