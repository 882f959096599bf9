import SyncCore
import Varlink

/// A client of the daemon.
///
/// ```swift
/// let client = StoreClient()
/// for try await notice in client.subscribe("/srv/music.db", after: lastToken) {
///     if case .transaction(let transaction) = notice { print(transaction.changes) }
/// }
/// ```
///
/// Thread-safe and cheap to keep. Calls share one connection, which is made at the first call and
/// made again when the daemon restarted; each subscription has its own. Stores are named by the
/// path of the database (absolute) or by their store id.
///
/// Every asynchronous method throws ``SyncError``, the daemon's error or `unreachable`, and
/// `CancellationError` when its task is cancelled.
public final class StoreClient: Sendable {
    let connection: CallConnection

    /// The daemon's socket.
    public var socket: String { connection.socket }

    /// Makes a client; connects at the first call.
    ///
    /// - Parameter socket: the daemon's socket; nil: ``SocketPath/find(_:)``.
    public init(socket: String? = nil) {
        connection = CallConnection(socket: socket ?? SocketPath.find())
    }

    /// Closes the connection of ordinary calls. Subscriptions continue.
    public func close() { connection.close() }

    func call(_ method: String, with parameters: JSONObject = [:]) async throws -> JSONObject {
        try await connection.call(method, with: parameters)
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
    /// - Throws: ``SyncError``: `noSuchFile`, `notAllowed`, `cannotTrack`, or `unreachable`.
    public func track(
        _ path: String, entities: [String] = [], undo: [String] = [], keepsValues: Bool = true
    ) async throws -> (store: StoreSummary, tables: [TableSummary], repaired: [String]) {
        var parameters: JSONObject = ["path": .string(path)]
        if !entities.isEmpty { parameters["entities"] = .array(entities.map(JSONValue.string)) }
        if !undo.isEmpty { parameters["undo"] = .array(undo.map(JSONValue.string)) }
        if !keepsValues { parameters["keep"] = "none" }
        let reader = JSONReader(
            try await call("Track", with: parameters), of: "the answer to Track")
        return (
            try StoreSummary(json: reader.optional("store")),
            try reader.array("tables").map(TableSummary.init(json:)),
            try reader.strings("repaired")
        )
    }

    /// Has the daemon stop watching a store, and removes every trace of history from the database.
    ///
    /// - Parameter forget: leave the database as it is, only have the daemon forget it.
    /// - Returns: objects of other programs that are named `syncd_…` and stay.
    /// - Throws: ``SyncError``: `unknownStore`, `notAllowed`, or `unreachable`.
    @discardableResult
    public func untrack(_ store: String, forget: Bool = false) async throws -> [String] {
        var parameters: JSONObject = ["store": .string(store)]
        if forget { parameters["forget"] = true }
        let answer = try await call("Untrack", with: parameters)
        return try JSONReader(answer, of: "the answer to Untrack").strings("left")
    }

    /// The stores of the daemon that this process may read.
    ///
    /// - Throws: ``SyncError``: the daemon's error, or `unreachable`.
    public func list() async throws -> [StoreSummary] {
        try JSONReader(try await call("List"), of: "the answer to List").array("stores")
            .map { try StoreSummary(json: $0) }
    }

    /// How the daemon and the stores that this process may read are doing, in numbers.
    ///
    /// - Throws: ``SyncError``: the daemon's error, or `unreachable`.
    public func overview() async throws -> DaemonOverview {
        try DaemonOverview(try await call("Overview"))
    }

    /// The configuration that the daemon runs with.
    ///
    /// - Throws: ``SyncError``: `notAllowed` for others than root and the daemon's user;
    ///   `unreachable`.
    public func configuration() async throws -> [Setting] {
        let answer = try await call("Configuration")
        return try JSONReader(answer, of: "the answer to Configuration").array("settings")
            .map(Setting.init(json:))
    }

    /// The full status of a store.
    ///
    /// - Throws: ``SyncError``: the daemon's error, or `unreachable`.
    public func status(_ store: String) async throws -> StoreReport {
        try StoreReport(try await call("Status", with: ["store": .string(store)]))
    }

    /// Compares triggers and schema with what tracking installed; no findings: no problems found.
    ///
    /// - Throws: ``SyncError``: the daemon's error, or `unreachable`.
    public func verify(
        _ store: String
    ) async throws -> (tables: [TableSummary], findings: [String]) {
        let answer = try await call("Verify", with: ["store": .string(store)])
        let reader = JSONReader(answer, of: "the answer to Verify")
        return (
            try reader.array("tables").map(TableSummary.init(json:)),
            try reader.strings("findings")
        )
    }

    /// Why writes may be missing from the history at present, a sentence each: a migration runs, or
    /// another program dropped what records them. Empty: nothing is missing, or the daemon is older
    /// and does not say.
    ///
    /// - Throws: ``SyncError``: the daemon's error, or `unreachable`.
    public func unrecorded(_ store: String) async throws -> [String] {
        let answer = try await call("Verify", with: ["store": .string(store)])
        let reader = JSONReader(answer, of: "the answer to Verify")
        return reader.optional("unrecorded") == nil ? [] : try reader.strings("unrecorded")
    }
}

// MARK: History

extension StoreClient {
    /// The token at the present end of a store's history.
    ///
    /// - Throws: ``SyncError``: the daemon's error, or `unreachable`.
    public func head(_ store: String) async throws -> Token {
        try JSONReader(
            try await call("Head", with: ["store": .string(store)]), of: "the answer to Head"
        )
        .token("token")
    }

    /// How many transactions and changes a query finds.
    ///
    /// - Throws: ``SyncError``: the daemon's error, or `unreachable`.
    public func count(
        _ store: String, matching query: HistoryQuery = HistoryQuery()
    ) async throws -> (transactions: Int, changes: Int) {
        let answer = try await call(
            "Count", with: ["store": .string(store), "query": .object(query.jsonObject)])
        let reader = JSONReader(answer, of: "the answer to Count")
        return (Int(try reader.integer("transactions")), Int(try reader.integer("changes")))
    }

    /// Deletes history strictly before a token; nil: all that no live consumer needs.
    ///
    /// - Parameter force: delete also what a consumer needs.
    /// - Throws: ``SyncError``: `stillNeeded`, `invalidToken`, `notAllowed`, or `unreachable`.
    public func purge(
        _ store: String, before token: Token? = nil, force: Bool = false
    ) async throws -> (transactions: Int, changes: Int) {
        var parameters: JSONObject = ["store": .string(store)]
        parameters["before"] = token.map { .string($0.description) }
        if force { parameters["force"] = true }
        let reader = JSONReader(
            try await call("Purge", with: parameters), of: "the answer to Purge")
        return (Int(try reader.integer("transactions")), Int(try reader.integer("changes")))
    }
}

// MARK: Consumers

extension StoreClient {
    /// The consumers of a store.
    ///
    /// - Throws: ``SyncError``: the daemon's error, or `unreachable`.
    public func consumers(_ store: String) async throws -> [Consumer] {
        let answer = try await call("Consumers", with: ["store": .string(store)])
        return try JSONReader(answer, of: "the answer to Consumers").array("consumers")
            .map(Consumer.init(json:))
    }

    /// Registers a consumer, or renews its kind and lease; its position stays.
    ///
    /// - Parameter lease: whole seconds; nil: it never lapses.
    /// - Throws: ``SyncError``: the daemon's error, or `unreachable`.
    public func register(
        _ store: String, consumer: String, kind: Consumer.Kind = .reader, lease: Duration? = nil
    ) async throws {
        var parameters: JSONObject = [
            "store": .string(store), "name": .string(consumer), "kind": .string(kind.rawValue),
        ]
        parameters["lease"] = lease.map { .integer($0.components.seconds) }
        _ = try await call("RegisterConsumer", with: parameters)
    }

    /// Records that a consumer has processed everything up to a token. Never moves back.
    ///
    /// - Throws: ``SyncError``: `unknownConsumer`, `invalidToken`, or `unreachable`.
    public func acknowledge(_ store: String, consumer: String, upTo token: Token) async throws {
        _ = try await call(
            "Acknowledge",
            with: [
                "store": .string(store), "consumer": .string(consumer),
                "token": .string(token.description),
            ])
    }

    /// Removes a consumer.
    ///
    /// - Throws: ``SyncError``: `unknownConsumer`, or `unreachable`.
    public func remove(_ store: String, consumer: String) async throws {
        _ = try await call(
            "RemoveConsumer", with: ["store": .string(store), "consumer": .string(consumer)])
    }
}
