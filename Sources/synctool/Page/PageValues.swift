import SyncClient
import SyncCore
import Varlink

/// The values that transactions left in rows, read from the file: the wire has those before.
enum PageValues {
    /// How long a call reads on: an object with a long history is followed back change by change.
    private static let readingMax: Duration = .milliseconds(500)
    /// Changes of one transaction whose values are read.
    private static let changesMax = 20

    /// By name, as on the wire.
    static func json(_ values: NamedValues) -> JSONValue {
        var writer = JSONWriter()
        writer.beginObject()
        for pair in values.pairs {
            writer.name(pair.name)
            writer.write(pair.value)
        }
        writer.endObject()
        return (try? JSONParser.parse(String(decoding: writer.bytes, as: UTF8.self))) ?? .null
    }

    /// The values that changes of a transaction left, by object: all of an insert, and of an update
    /// those that it changed.
    static func json(of transaction: Transaction, in store: Store) -> JSONObject {
        var object = JSONObject()
        for change in transaction.changes.prefix(changesMax) where change.kind != .delete {
            let name = ObjectName(foldedNameOf: change.object)
            guard var values = values(of: name, at: transaction.token, in: store) else { continue }
            if change.kind == .update {
                values = NamedValues(
                    change.properties.compactMap { property in
                        values[property].map { .init(name: property, value: $0) }
                    })
            }
            object[change.object.path] = json(values)
        }
        return object
    }

    /// The rows of objects after transactions: those that can be read in time.
    ///
    /// - Parameter asked: `{"token":…,"objects":[…]}` for each transaction.
    /// - Throws: ``SyncError`` of the file, and for names that are none.
    static func json(of asked: [JSONValue], in path: String) throws -> JSONObject {
        let end = ContinuousClock.now + readingMax
        let store = try Store.open(path, isResolved: false, isMending: false)
        defer { try? store.close() }
        var answers: [JSONValue] = []
        for one in asked.prefix(PageCalls.pageMax) where ContinuousClock.now < end {
            let token = try Token(one["token"]?.string ?? "")
            var object = JSONObject()
            for text in (one["objects"]?.array ?? []).prefix(changesMax).compactMap(\.string) {
                let values = values(of: try ObjectName(path: text), at: token, in: store)
                object[text] = values.map(json)
            }
            answers.append(["number": .integer(token.number), "values": .object(object)])
        }
        return ["transactions": .array(answers)]
    }

    private static func values(
        of name: ObjectName, at token: Token, in store: Store
    ) -> NamedValues? {
        // A commit that this process has not read yet has no position for it: the row of now.
        let past =
            (try? store.object(name, asOf: token))
            ?? (try? store.object(name, asOf: store.head()))
        return past.flatMap { $0.isPresent ? $0.values : nil }
    }
}
