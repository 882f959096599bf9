/// One query over both halves of history: the tables, and what the log still holds.
struct HistoryScan {
    private let reader: PreparedReader
    private let boundaries: [Boundary]
    private let delivery: Delivery

    init(
        _ reader: PreparedReader, boundaries: [Boundary], delivering delivery: Delivery = .whole
    ) {
        self.reader = reader
        self.boundaries = boundaries
        self.delivery = delivery
    }

    func run(_ query: HistoryQuery, body: (Transaction) throws -> Bool) throws {
        var left = query.limit ?? .max
        guard left > 0 else { return }
        func limited(_ transaction: Transaction) throws -> Bool {
            if transaction.isComplete { left -= 1 }
            return try body(transaction) && left > 0
        }
        let digested = try reader.metadata.position(.digested)
        reader.resolver.births.forget(upTo: digested)
        if query.reverse {
            // The parts of each transaction in their own order.
            var newest: [[Transaction]] = []
            try pending(matching: query, after: digested) { transaction in
                if newest.last?.last?.number == transaction.number {
                    newest[newest.count - 1].append(transaction)
                } else {
                    newest.append([transaction])
                }
                // A backlog can be long, and few are asked for.
                if newest.count / 2 > left { newest.removeFirst(newest.count - left) }
                return true
            }
            for transaction in newest.reversed().joined() {
                guard try limited(transaction) else { return }
            }
            _ = try written(matching: query, limited)
        } else {
            guard try written(matching: query, limited) else { return }
            try pending(matching: query, after: digested, limited)
        }
    }

    /// The transaction of a number with all of its changes, wherever it is stored; nil when there
    /// is none.
    ///
    /// A query after the position just before it is no way to ask for it: that position lies inside
    /// the transaction, and such a reader gets the rest of it alone.
    func transaction(_ number: Int64) throws -> Transaction? {
        let digested = try reader.metadata.position(.digested)
        reader.resolver.births.forget(upTo: digested)
        guard number > digested else {
            return try HistoryReader(
                reader.connection, catalog: reader.catalog, resolver: reader.resolver,
                delivering: delivery
            ).transaction(number)
        }
        var found: Transaction?
        try pending(matching: HistoryQuery(), after: digested) { transaction in
            if transaction.number == number { found = transaction }
            return transaction.number < number
        }
        return found
    }

    /// One change of a transaction, with all of its values; nil when there is none.
    func change(seq: Int64, in number: Int64) throws -> Change? {
        guard number > (try reader.metadata.position(.digested)) else {
            return try HistoryReader(
                reader.connection, catalog: reader.catalog, resolver: reader.resolver
            ).change(seq: seq, in: number)
        }
        return try transaction(number)?.changes.first { $0.seq == seq }
    }

    /// Changes of a transaction, with all of their values.
    ///
    /// - Complexity: O(changes asked for) where the history tables have the transaction, or else
    ///   O(its changes).
    func changes(_ seqs: Set<Int64>, in number: Int64) throws -> [Int64: Change] {
        var found: [Int64: Change] = [:]
        if try number > reader.metadata.position(.digested) {
            for change in try transaction(number)?.changes ?? [] where seqs.contains(change.seq) {
                found[change.seq] = change
            }
        } else {
            let history = try HistoryReader(
                reader.connection, catalog: reader.catalog, resolver: reader.resolver,
                delivering: delivery)
            for seq in seqs { found[seq] = try history.change(seq: seq, in: number) }
        }
        return found
    }

    /// What the history tables hold, in the query's order.
    private func written(
        matching query: HistoryQuery, _ body: (Transaction) throws -> Bool
    ) throws -> Bool {
        try HistoryReader(
            reader.connection, catalog: reader.catalog, resolver: reader.resolver,
            delivering: delivery
        ).forEach(matching: query, body)
    }

    /// What the log still holds, oldest first, until `body` returns false.
    private func pending(
        matching query: HistoryQuery, after digested: Int64, _ body: (Transaction) throws -> Bool
    ) throws {
        let resolver = reader.resolver
        let after = query.after?.number ?? 0
        // The transactions before it are noted already, and the query does not ask for them.
        let known = min(after, resolver.births.end)
        let start = boundaries[..<boundaries.firstIndex(after: known)].last?.last ?? digested
        try TransactionAssembler(reader.log).forEach(
            after: max(start, digested),
            in: boundaries[boundaries.firstIndex(after: max(start, digested))...]
        ) { transaction in
            // First, because it may delete what it inserted.
            resolver.births.note(transaction)
            guard transaction.number > after else { return true }
            let header = resolver.header(pending: transaction)
            guard query.matchesHeader(of: header) else { return true }
            var slicer = PartSlicer(header, matching: query, in: delivery)
            let start = delivery.position(in: transaction.number)?.change ?? 0
            for change in transaction.changes where change.seq > start && change.last > after {
                let resolved = try resolver.resolve(
                    change, in: transaction.number, naming: delivery.naming)
                guard try slicer.add(resolved, givingTo: body) else { return false }
            }
            return try slicer.finish(givingTo: body)
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
