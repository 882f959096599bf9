import SyncCore
import Varlink

extension StoreClient {
    /// The transactions that a query finds, each of them whole.
    ///
    /// - Throws: ``SyncError``: `invalidToken`, `historyExpired`, …, or `unreachable`.
    /// - Complexity: O(changes) in memory: use
    ///   ``forEachTransaction(_:matching:joining:body:)`` for long histories.
    public func history(
        _ store: String, matching query: HistoryQuery = HistoryQuery()
    ) async throws -> [Transaction] {
        var transactions: [Transaction] = []
        let limits = JoinLimits(changesMax: .max, bytesMax: .max)
        try await forEachTransaction(store, matching: query, joining: limits) {
            transactions.append($0)
            return true
        }
        return transactions
    }

    /// Calls `body` for each transaction that a query finds, in its order, until it returns false.
    ///
    /// - Parameter limits: a transaction beyond them comes in parts (`Transaction.part`), in their
    ///   order also where the query is in reverse.
    /// - Throws: ``SyncError``: `invalidToken`, `historyExpired`, …, or `unreachable`; what `body`
    ///   throws.
    public func forEachTransaction(
        _ store: String, matching query: HistoryQuery, joining limits: JoinLimits = JoinLimits(),
        body: (Transaction) throws -> Bool
    ) async throws {
        let client = try await connection.connect()
        defer { client.close() }
        let parameters: JSONObject = ["store": .string(store), "query": .object(query.jsonObject)]
        var joiner = TransactionJoiner(limits)
        do {
            let method = StoreInterface.method("History")
            for try await reply in client.callMore(method, with: parameters) {
                let page = JSONReader(reply, of: "a page of history")
                for json in try page.array("transactions") {
                    guard let transaction = joiner.take(try Transaction(json: json)) else {
                        continue
                    }
                    guard try body(transaction) else { return }
                }
            }
        } catch let error as VarlinkError {
            throw SyncError(answer: error, socket: socket)
        } catch let error as TransportError {
            throw SyncError(answer: error, socket: socket)
        }
    }

    /// Fetches a value that a tombstone or old values refer to.
    ///
    /// - Complexity: O(its bytes) in memory: use ``forEachSlice(of:in:body:)`` for large ones.
    /// - Throws: ``SyncError``: `historyExpired` when its transaction was purged; `badData` for a
    ///   text that is not UTF-8; or `unreachable`.
    public func value(_ reference: ValueReference, in store: String) async throws -> Value {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(reference.bytes)
        try await forEachSlice(of: reference, in: store) { bytes += $0 }
        guard reference.kind == .text else { return .blob(bytes) }
        return .text(String(textBytes: bytes))
    }

    /// Fetches a value in slices of at most 1 MiB, in order; memory is bounded by one slice.
    ///
    /// - Throws: ``SyncError``: as ``value(_:in:)``; what `body` throws.
    public func forEachSlice(
        of reference: ValueReference, in store: String, body: ([UInt8]) throws -> Void
    ) async throws {
        var parameters = reference.jsonObject
        parameters["store"] = .string(store)
        var offset = 0
        while true {
            parameters["offset"] = .integer(Int64(offset))
            let answer = try await call("GetValue", with: parameters)
            let reader = JSONReader(answer, of: "the answer to GetValue")
            let slice = try reader.require("data", as: Base64.decode(try reader.string("data")))
            let size = Int(try reader.integer("size"))
            try body(slice)
            offset += slice.count
            guard offset < size else { return }
            guard !slice.isEmpty else { throw reader.bad("data") }
        }
    }
}
