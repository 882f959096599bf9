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
    public func head() throws -> Token {
        var query = HistoryQuery()
        query.reverse = true
        query.limit = 1
        return try history(query).first?.token
            ?? Token(store: id, epoch: epoch, number: 0, time: Timestamp(milliseconds: 0))
    }

    /// The transactions that a query finds, in its order.
    ///
    /// - Throws: ``SyncError``: `historyExpired`, `foreignHistory` for `query.after`;
    ///   `unknownEntity`.
    /// - Complexity: O(transactions after `query.after`); with `query.object` O(its changes).
    public func history(_ query: HistoryQuery = HistoryQuery()) throws -> [Transaction] {
        var transactions: [Transaction] = []
        try forEachTransaction(query) {
            transactions.append($0)
            return true
        }
        return transactions
    }

    /// Counts what a query finds.
    public func count(_ query: HistoryQuery = HistoryQuery()) throws -> HistoryCount {
        var transactions = 0
        var changes = 0
        try forEachTransaction(query) {
            transactions += 1
            changes += $0.changes.count
            return true
        }
        return HistoryCount(transactions: transactions, changes: changes)
    }

    /// Calls `body` for each transaction that a query finds, in its order, until it returns false.
    /// Memory is bounded by the largest transaction.
    ///
    /// Everything comes from one state of the store. It blocks other queries of this store while it
    /// runs: take pages (`limit`, then `after` the last token) for anything long.
    ///
    /// - Throws: as ``history(_:)``.
    public func forEachTransaction(
        _ query: HistoryQuery, _ body: (Transaction) throws -> Bool
    ) throws {
        try explaining("history") {
            let boundaries = try live.withState { _, live in try live.pendingBoundaries() }
            try reading.read { reader in
                try TokenCheck(reader, identity).check(query.after)
                try TokenCheck(reader, identity).check(query.upTo)
                try reader.checkEntities(of: query)
                try HistoryScan(reader, boundaries).run(query, body)
            }
        }
    }

    /// Runs `body` over one state of the store in which history and tables agree: nothing is
    /// committed that `boundaries` do not enclose.
    func consistentRead<Result>(
        _ body: (ReadingConnection.Prepared, HistoryScan) throws -> Result
    ) throws -> Result {
        while true {
            let boundaries = try live.withState { _, live in try live.pendingBoundaries() }
            let result: Result? = try reading.read { reader in
                let newest = try Statement(reader.connection, "SELECT max(seq) FROM syncd_log")
                let seq = try newest.step() ? newest.integer(0) : 0
                newest.reset()
                let known = try max(
                    boundaries.last?.last ?? 0, reader.settings.position(.digested))
                // Somebody committed in between: once more.
                guard seq <= known else { return nil }
                return try body(reader, HistoryScan(reader, boundaries))
            }
            if let result { return result }
        }
    }

    /// Checks that history is whole after a token.
    ///
    /// - Throws: ``SyncError``: `historyExpired`, `foreignHistory`.
    public func check(_ token: Token) throws {
        try explaining("history") {
            try reading.read { try TokenCheck($0, identity).check(token) }
        }
    }
}

extension ReadingConnection.Prepared {
    /// A name that the store does not know is a mistake, not an empty answer.
    fileprivate func checkEntities(of query: HistoryQuery) throws {
        for name in query.entities + (query.object.map { [$0.entity] } ?? []) {
            if try catalog.ids(named: SQLName.folded(name)).isEmpty { try catalog.reload() }
            guard try catalog.ids(named: SQLName.folded(name)).isEmpty else { continue }
            let names = Set(catalog.present.map(\.name)).sorted().joined(separator: ", ")
            throw SyncError(
                .unknownEntity, "the store has no entity '\(name)'",
                hint: names.isEmpty ? "No table is tracked" : "Its entities are: \(names)")
        }
    }
}

/// One query over both halves of history: the tables, and what the log still holds.
struct HistoryScan {
    private let reader: ReadingConnection.Prepared
    private let boundaries: [Boundary]

    init(_ reader: ReadingConnection.Prepared, _ boundaries: [Boundary]) {
        self.reader = reader
        self.boundaries = boundaries
    }

    func run(_ query: HistoryQuery, _ body: (Transaction) throws -> Bool) throws {
        var left = query.limit ?? .max
        guard left > 0 else { return }
        func limited(_ transaction: Transaction) throws -> Bool {
            left -= 1
            return try body(transaction) && left > 0
        }
        let digested = try reader.settings.position(.digested)
        reader.resolver.births.forget(upTo: digested)
        if query.reverse {
            var newest: [Transaction] = []
            try pending(query, after: digested) { transaction in
                newest.append(transaction)
                // A backlog can be long, and few are asked for.
                if newest.count / 2 > left { newest.removeFirst(newest.count - left) }
                return true
            }
            for transaction in newest.reversed() {
                guard try limited(transaction) else { return }
            }
            _ = try written(query, limited)
        } else {
            guard try written(query, limited) else { return }
            try pending(query, after: digested, limited)
        }
    }

    /// The transaction of a number with all of its changes, wherever it is stored; nil when there
    /// is none.
    ///
    /// A query after the position just before it is no way to ask for it: that position lies inside
    /// the transaction, and such a reader gets the rest of it alone.
    func transaction(_ number: Int64) throws -> Transaction? {
        let digested = try reader.settings.position(.digested)
        reader.resolver.births.forget(upTo: digested)
        guard number > digested else {
            return try HistoryReader(
                reader.connection, catalog: reader.catalog, resolver: reader.resolver
            ).transaction(number)
        }
        var found: Transaction?
        try pending(HistoryQuery(), after: digested) { transaction in
            if transaction.number == number { found = transaction }
            return transaction.number < number
        }
        return found
    }

    /// What the history tables hold, in the query's order.
    private func written(
        _ query: HistoryQuery, _ body: (Transaction) throws -> Bool
    ) throws -> Bool {
        try HistoryReader(
            reader.connection, catalog: reader.catalog, resolver: reader.resolver
        ).forEach(query, body)
    }

    /// What the log still holds, oldest first, until `body` returns false.
    private func pending(
        _ query: HistoryQuery, after digested: Int64, _ body: (Transaction) throws -> Bool
    ) throws {
        let resolver = reader.resolver
        let after = query.after?.number ?? 0
        // Whatever is before it is noted, and nobody asks for it.
        let known = min(after, resolver.births.end)
        let start = boundaries[..<boundaries.firstIndex(after: known)].last?.last ?? digested
        try TransactionAssembler(reader.log).forEach(
            after: max(start, digested),
            boundaries[boundaries.firstIndex(after: max(start, digested))...]
        ) { transaction in
            guard transaction.number > after else {
                resolver.births.note(transaction)
                return true
            }
            guard let found = query.filter(try resolver.resolve(pending: transaction)) else {
                return true
            }
            return try body(found)
        }
    }
}

extension [Boundary] {
    /// The first boundary after a seq; the boundaries ascend. O(log n).
    fileprivate func firstIndex(after seq: Int64) -> Int {
        var (low, high) = (startIndex, endIndex)
        while low < high {
            let middle = (low + high) / 2
            if self[middle].last <= seq { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
