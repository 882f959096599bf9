import SyncStorage
import SyncValues

extension Store {
    /// How many transactions and changes a query finds.
    public struct HistoryCount: Sendable, Hashable {
        /// Transactions with at least one matching change.
        public let transactions: Int
        /// Matching changes.
        public let changes: Int
    }

    /// The position at the end of history now: after the last committed transaction.
    /// - Throws: ``SyncError``: `storeDamaged`, `storeReplaced`, `busy`.
    public func head() throws -> Token {
        var query = HistoryQuery()
        query.reverse = true
        return try firstToken(matching: query)
            ?? Token(store: id, epoch: epoch, number: 0, time: Timestamp(milliseconds: 0))
    }

    /// The token of the first transaction that a query finds; nil when there is none.
    /// - Throws: as ``history(_:)``.
    package func firstToken(matching query: HistoryQuery) throws -> Token? {
        var query = query
        query.limit = 1
        var token: Token?
        let limits = PartLimits(changesMax: 1, bytesMax: .max, valueBytesMax: nil)
        try forEachTransaction(matching: query, inParts: limits) {
            token = $0.token
            return false
        }
        return token
    }

    /// The transactions that a query finds, in its order.
    ///
    /// - Throws: ``SyncError``: `historyExpired`, `foreignHistory` for `query.after`;
    ///   `unknownEntity`.
    /// - Complexity: O(transactions after `query.after`); with `query.object` O(its changes).
    public func history(_ query: HistoryQuery = HistoryQuery()) throws -> [Transaction] {
        var transactions: [Transaction] = []
        try forEachTransaction(matching: query) {
            transactions.append($0)
            return true
        }
        return transactions
    }

    /// Counts what a query finds.
    /// - Throws: as ``history(_:)``.
    public func count(_ query: HistoryQuery = HistoryQuery()) throws -> HistoryCount {
        var transactions = 0
        var changes = 0
        try forEachTransaction(matching: query, inParts: .message) {
            if $0.isComplete { transactions += 1 }
            changes += $0.changes.count
            return true
        }
        return HistoryCount(transactions: transactions, changes: changes)
    }

    /// Calls `body` for each transaction that a query finds, in its order, until it returns false.
    /// Memory is bounded by the largest transaction.
    ///
    /// What is committed becomes part of history first: see ``poll()``. What cannot be told yet is
    /// in ``unsettled``.
    ///
    /// Everything comes from one state of the store. It blocks other queries of this store while it
    /// runs: take pages (`limit`, then `after` the last token) for anything long.
    ///
    /// - Throws: as ``history(_:)``.
    public func forEachTransaction(
        matching query: HistoryQuery, _ body: (Transaction) throws -> Bool
    ) throws {
        try forEachTransaction(matching: query, inParts: .none, body)
    }

    /// As ``forEachTransaction(matching:_:)``, but a transaction that exceeds `limits` comes as
    /// several, its parts (``Transaction/part``), and large values as references. Memory is bounded
    /// by one part and one change.
    ///
    /// - Parameters:
    ///   - query: its `limit` counts transactions, not parts.
    ///   - position: continue inside of a transaction that the query includes.
    /// - Throws: as ``history(_:)``.
    public func forEachTransaction(
        matching query: HistoryQuery, inParts limits: PartLimits,
        from position: PartPosition? = nil, _ body: (Transaction) throws -> Bool
    ) throws {
        try explaining("history") {
            try digestLarge()
            let boundaries = try settle()
            let delivery = Delivery(limits: limits, start: position)
            try reading.read { reader in
                try TokenCheck(reader, identity: identity).check(query.after)
                try TokenCheck(reader, identity: identity).check(query.upTo)
                let query = try reader.resolvingEntities(of: query)
                try HistoryScan(reader, boundaries: boundaries, delivering: delivery)
                    .run(query, body: body)
            }
        }
    }

    /// Runs `body` over one state of the store in which history and tables agree: nothing is
    /// committed that the boundaries do not enclose. They may be unrecorded: `body` gives no number
    /// to a caller.
    func consistentRead<Result>(
        naming: Naming = .then, _ body: (PreparedReader, HistoryScan) throws -> Result
    ) throws -> Result {
        try settle()
        while true {
            let boundaries = try live.withState { _, live in try live.pendingBoundaries() }
            let result: Result? = try reading.read { reader in
                let seq = try LogTable.newest(on: reader.connection)
                let known = try max(
                    boundaries.last?.last ?? 0, reader.metadata.position(.digested))
                // Another commit came in between: once more.
                guard seq <= known else { return nil }
                return try body(
                    reader,
                    HistoryScan(
                        reader, boundaries: boundaries, delivering: Delivery(naming: naming)))
            }
            if let result { return result }
        }
    }

    /// Checks that history is whole after a token.
    ///
    /// - Throws: ``SyncError``: `historyExpired`, `foreignHistory`.
    public func check(_ token: Token) throws {
        try explaining("history") {
            try reading.read { try TokenCheck($0, identity: identity).check(token) }
        }
    }
}

extension PreparedReader {
    /// The query with what its tables were called earlier. A name that the store does not know is a
    /// mistake, not an empty answer.
    fileprivate func resolvingEntities(of query: HistoryQuery) throws -> HistoryQuery {
        var resolved = query
        for name in query.entities + (query.object.map { [$0.entity] } ?? []) {
            let folded = SQLName.folded(name)
            if catalog.ids(named: folded).isEmpty { try catalog.reload() }
            let former = Set(
                try catalog.ids(namedNow: folded).compactMap { try catalog.entity($0)?.folded })
            if former.count > 1 { resolved.formerNames[folded] = former }
            guard catalog.ids(named: folded).isEmpty else { continue }
            throw SyncError.unknownEntity(name, among: Array(Set(catalog.present.map(\.name))))
        }
        try checkProperties(of: resolved)
        return resolved
    }

    /// The same for properties: of the entities of the query, now or earlier.
    private func checkProperties(of query: HistoryQuery) throws {
        let entities = query.entities.map(SQLName.folded).flatMap {
            query.formerNames[$0] ?? [$0]
        }
        func names() -> [String] {
            catalog.all.filter { entities.isEmpty || entities.contains($0.folded) }
                .flatMap(\.columnNames)
        }
        func isKnown(_ name: String) -> Bool {
            names().contains { SQLName.isEqual($0, to: name) }
        }
        guard let name = query.properties.first(where: { !isKnown($0) }) else { return }
        try catalog.reload()
        guard !isKnown(name) else { return }
        throw SyncError.unknownProperty(
            name, of: query.entities.count == 1 ? query.entities.first : nil, among: names())
    }
}
