import SyncCore
import Varlink

/// The daemon, as a program in Swift sees it.
///
/// ```swift
/// let client = StoreClient()
/// for try await notice in client.subscribe("/srv/music.db", after: lastToken) {
///     if case .transaction(let transaction) = notice { print(transaction.changes) }
/// }
/// ```
///
/// Thread-safe and cheap to keep. Calls share one connection, which is made at the first call and
/// made anew when the daemon restarted; each subscription has its own. Stores are named by the path
/// of the database (absolute) or by their store id.
///
/// Every method throws ``SyncError``: the daemon's own error, or `unreachable`.
public final class StoreClient: Sendable {
    let connection: CallConnection

    /// The daemon's socket.
    public var socket: String { connection.socket }

    /// Makes a client; connects at the first call.
    ///
    /// - Parameter socket: nil: where ``SocketPath/find(_:)`` says.
    public init(socket: String? = nil) {
        connection = CallConnection(socket: socket ?? SocketPath.find())
    }

    /// Closes the connection of ordinary calls. Subscriptions go on.
    public func close() { connection.close() }

    func call(_ method: String, _ parameters: JSONObject = [:]) async throws -> JSONObject {
        try await connection.call(method, parameters)
    }
}

// MARK: Stores

extension StoreClient {
    /// Tracks a database and has the daemon watch it.
    ///
    /// - Parameters:
    ///   - entities: only these tables; empty: all.
    ///   - undo: entities that keep the old values of updates; `*`: all.
    ///   - keepsValues: deleted objects keep their values.
    public func track(
        _ path: String, entities: [String] = [], undo: [String] = [], keepsValues: Bool = true
    ) async throws -> (store: StoreSummary, tables: [TableSummary], repaired: [String]) {
        var parameters: JSONObject = ["path": .string(path)]
        if !entities.isEmpty { parameters["entities"] = .array(entities.map(JSONValue.string)) }
        if !undo.isEmpty { parameters["undo"] = .array(undo.map(JSONValue.string)) }
        if !keepsValues { parameters["keep"] = "none" }
        let reader = JSONReader(try await call("Track", parameters), "the answer to Track")
        return (
            try StoreSummary(json: reader.optional("store")),
            try reader.array("tables").map(TableSummary.init(json:)),
            try reader.strings("repaired")
        )
    }

    /// Has the daemon stop watching a store, and removes every trace of history from the database.
    ///
    /// - Parameter forget: leave the database as it is, only have the daemon forget it.
    @discardableResult
    public func untrack(_ store: String, forget: Bool = false) async throws -> [String] {
        var parameters: JSONObject = ["store": .string(store)]
        if forget { parameters["forget"] = true }
        let answer = try await call("Untrack", parameters)
        return try JSONReader(answer, "the answer to Untrack").strings("left")
    }

    /// The stores of the daemon that this process may see.
    public func list() async throws -> [StoreSummary] {
        try JSONReader(try await call("List"), "the answer to List").array("stores")
            .map { try StoreSummary(json: $0) }
    }

    /// All that the daemon knows of a store.
    public func status(_ store: String) async throws -> StoreReport {
        try StoreReport(try await call("Status", ["store": .string(store)]))
    }

    /// Triggers and schema compared with what capture installed; no findings: all is well.
    public func verify(
        _ store: String
    ) async throws -> (tables: [TableSummary], findings: [String]) {
        let answer = try await call("Verify", ["store": .string(store)])
        let reader = JSONReader(answer, "the answer to Verify")
        return (
            try reader.array("tables").map(TableSummary.init(json:)),
            try reader.strings("findings")
        )
    }
}

// MARK: History

extension StoreClient {
    /// The token at the end of a store's history now.
    public func head(_ store: String) async throws -> Token {
        try JSONReader(try await call("Head", ["store": .string(store)]), "the answer to Head")
            .token("token")
    }

    /// The transactions that a query finds.
    ///
    /// - Complexity: O(transactions) in memory: use ``forEachTransaction(_:_:_:)`` for long
    ///   histories.
    public func history(
        _ store: String, _ query: HistoryQuery = HistoryQuery()
    ) async throws -> [Transaction] {
        var transactions: [Transaction] = []
        try await forEachTransaction(store, query) {
            transactions.append($0)
            return true
        }
        return transactions
    }

    /// Calls `body` for each transaction that a query finds, in its order, until it returns false.
    public func forEachTransaction(
        _ store: String, _ query: HistoryQuery, _ body: (Transaction) throws -> Bool
    ) async throws {
        let client = try await connection.connect()
        defer { client.close() }
        let parameters: JSONObject = ["store": .string(store), "query": .object(query.jsonObject)]
        do {
            for try await reply in client.callMore(StoreInterface.method("History"), parameters) {
                let page = JSONReader(reply, "a page of history")
                for json in try page.array("transactions") {
                    guard try body(try Transaction(json: json)) else { return }
                }
            }
        } catch let error as VarlinkError {
            throw SyncError(answer: error, socket: socket)
        } catch let error as TransportError {
            throw SyncError(answer: error, socket: socket)
        }
    }

    /// How many transactions and changes a query finds.
    public func count(
        _ store: String, _ query: HistoryQuery = HistoryQuery()
    ) async throws -> (transactions: Int, changes: Int) {
        let answer = try await call(
            "Count", ["store": .string(store), "query": .object(query.jsonObject)])
        let reader = JSONReader(answer, "the answer to Count")
        return (Int(try reader.integer("transactions")), Int(try reader.integer("changes")))
    }

    /// Deletes history strictly before a token; nil: all that no live consumer needs.
    public func purge(
        _ store: String, before token: Token? = nil, force: Bool = false
    ) async throws -> (transactions: Int, changes: Int) {
        var parameters: JSONObject = ["store": .string(store)]
        parameters["before"] = token.map { .string($0.description) }
        if force { parameters["force"] = true }
        let reader = JSONReader(try await call("Purge", parameters), "the answer to Purge")
        return (Int(try reader.integer("transactions")), Int(try reader.integer("changes")))
    }
}

// MARK: Consumers

extension StoreClient {
    /// The consumers of a store.
    public func consumers(_ store: String) async throws -> [Consumer] {
        let answer = try await call("Consumers", ["store": .string(store)])
        return try JSONReader(answer, "the answer to Consumers").array("consumers")
            .map(Consumer.init(json:))
    }

    /// Registers a consumer, or renews its kind and lease; its position stays.
    ///
    /// - Parameter lease: whole seconds; nil: for ever.
    public func register(
        _ store: String, consumer: String, kind: Consumer.Kind = .reader, lease: Duration? = nil
    ) async throws {
        var parameters: JSONObject = [
            "store": .string(store), "name": .string(consumer), "kind": .string(kind.rawValue),
        ]
        parameters["lease"] = lease.map { .integer($0.components.seconds) }
        _ = try await call("RegisterConsumer", parameters)
    }

    /// Says that a consumer is done with everything up to a token. Never moves back.
    public func acknowledge(_ store: String, consumer: String, _ token: Token) async throws {
        _ = try await call(
            "Acknowledge",
            [
                "store": .string(store), "consumer": .string(consumer),
                "token": .string(token.description),
            ])
    }

    /// Forgets a consumer.
    public func remove(_ store: String, consumer: String) async throws {
        _ = try await call(
            "RemoveConsumer", ["store": .string(store), "consumer": .string(consumer)])
    }
}
