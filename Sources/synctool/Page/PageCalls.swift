import NIOPosix
import SyncClient
import SyncCore
import SyncReplica
import Varlink

/// The calls of the page, each with the rights of this process: lists, history, subscriptions and
/// status through the daemon; values, lives and conflicts from the file itself, as the other
/// commands read them.
///
/// A call about a store names one that the daemon has and this user may see: somebody with a stolen
/// token cannot have other files opened.
struct PageCalls: Sendable {
    /// Transactions in one page of the timeline.
    static let pageMax = 50
    /// How long a call waits for a database that others write to.
    private static let busyMax: Duration = .seconds(15)

    let client: StoreClient

    /// Answers a call; nil: there is none of that name.
    ///
    /// - Throws: ``SyncError``.
    func answer(_ name: String, _ parameters: JSONObject) async throws -> HTTPReply? {
        switch name {
        case "stores": return .json(try await stores())
        case "status": return .json(try await status(of: try await store(parameters)))
        case "history": return .json(try await history(try await store(parameters), parameters))
        case "values":
            let path = try await store(parameters)
            let asked = parameters["transactions"]?.array ?? []
            return .json(try await blocking { try PageValues.json(of: asked, in: path) })
        case "object":
            let (path, object) = (try await store(parameters), try text("object", parameters))
            return .json(try await blocking { try ObjectLife.json(of: object, in: path) })
        case "conflicts":
            let path = try await store(parameters)
            return .json(try await blockingUntilFree { try PageConflicts(path: path).list() })
        case "resolve":
            let (path, keep) = (try await store(parameters), try text("keep", parameters))
            guard let id = parameters["id"]?.integer else { throw Self.missing("id") }
            return .json(
                try await blockingUntilFree {
                    try PageConflicts(path: path).resolve(id, keep: keep)
                })
        case "events":
            let path = try await store(parameters)
            let after = try parameters["after"]?.string.map { try Token($0) }
            let events = PageEvents(client: client, path: path, after: after)
            return HTTPReply(
                type: "application/x-ndjson", body: .stream { try await events.run(writing: $0) })
        default: return nil
        }
    }

    // MARK: Parameters

    private func text(_ name: String, _ parameters: JSONObject) throws -> String {
        guard let text = parameters[name]?.string else { throw Self.missing(name) }
        return text
    }

    private static func missing(_ name: String) -> SyncError {
        SyncError(.invalidArgument, "the call needs '\(name)'")
    }

    /// The path of the store that a call is about.
    private func store(_ parameters: JSONObject) async throws -> String {
        let path = try text("store", parameters)
        guard try await client.list().contains(where: { $0.path.hasBytes(of: path) }) else {
            throw SyncError(.unknownStore, "the daemon has no such store", path: path)
        }
        return path
    }

    /// The same of what writes: the daemon may exchange the store with its remotes at the moment.
    /// What fails has changed nothing, so that it can be tried again.
    private func blockingUntilFree<Result: Sendable>(
        _ body: @escaping @Sendable () throws -> Result
    ) async throws -> Result {
        try await BusyWait.repeating(atMost: Self.busyMax) { try await blocking(body) }
    }

    /// Runs what blocks on SQLite beside the tasks that serve connections.
    private func blocking<Result: Sendable>(
        _ body: @escaping @Sendable () throws -> Result
    ) async throws -> Result {
        try await NIOThreadPool.singleton.runIfActive(body)
    }

    // MARK: Answers

    private func stores() async throws -> JSONObject {
        ["stores": .array(try await client.list().map { .object($0.jsonObject) })]
    }

    private func status(of path: String) async throws -> JSONObject {
        let answered = StatusReport(directReason: nil, report: try await client.status(path))
        return try await blocking {
            var report = answered
            report.comparisons = (try? Store.comparisons(path)) ?? []
            report.names = (try? Store.replicaNames(path)) ?? KnownNames()
            report.hiddenRows = (try? Store.hiddenRowCount(path)) ?? 0
            report.conflicts = (try? Store.openConflictCount(path)) ?? 0
            var object = report.json
            object["number"] = .integer(report.store.head?.number ?? 0)
            return object
        }
    }

    /// A page of the timeline, newest first. `upTo`: the oldest transaction that is shown already.
    private func history(_ path: String, _ parameters: JSONObject) async throws -> JSONObject {
        var query = HistoryQuery()
        query.reverse = true
        query.upTo = try parameters["upTo"]?.string.map { try Token($0) }
        query.limit = Self.pageMax + 1
        let head = try await client.head(path)
        var texts: [JSONValue] = []
        try await client.forEachTransaction(path, matching: query, joining: .none) { transaction in
            guard transaction.token != query.upTo, transaction.part?.index ?? 0 == 0 else {
                return true
            }
            texts.append(PageTransaction(transaction).json)
            return texts.count < Self.pageMax
        }
        return ["head": .string(head.description), "transactions": .array(texts)]
    }
}

extension HTTPReply {
    fileprivate static func json(_ object: JSONObject) -> HTTPReply {
        HTTPReply(type: "application/json", body: .bytes(Array(object.description.utf8)))
    }
}
