import SyncStorage
import SyncValues

extension Store {
    /// The committed rows that the last query or ``poll()`` could not make part of history, and
    /// why; nil: history is complete.
    public var unsettled: UnsettledRows? { lastUnsettled.withLock { $0 } }

    /// Records the ends of transactions in a journal from now on, and tells transactions as soon as
    /// they are in it, without a write to the store. Restores what an earlier process recorded. To
    /// be called right after opening.
    ///
    /// - Throws: ``SyncError``: `busy`.
    package func record(in journal: BoundaryJournal) throws {
        try explaining("open") {
            try live.withState { _, live in try live.record(in: journal) }
        }
    }

    /// The committed changes that are not part of history yet, oldest first, without making them
    /// part of it. Queries do that; what this returns after one is what it could not settle.
    ///
    /// - Throws: as ``poll()``.
    /// - Complexity: O(log rows that are not in the history tables).
    public func pendingChanges() throws -> [PendingChanges] {
        try explaining("history") {
            let (boundaries, recorded) = try live.withState { _, live in
                (try live.pendingBoundaries(), try live.recordedEnd())
            }
            return try reading.read { reader in
                let digested = try reader.metadata.position(.digested)
                let start = max(digested, recorded)
                // Not the one of the queries: it remembers the numbers that it was given.
                let resolver = try ChangeResolver(
                    reader.connection, store: id, epoch: epoch, catalog: reader.catalog)
                var found: [PendingChanges] = []
                try TransactionAssembler(reader.log).forEach(
                    after: start, in: boundaries.filter { $0.last > start }
                ) { transaction in
                    let resolved = try resolver.resolve(pending: transaction)
                    found.append(
                        PendingChanges(
                            timestamp: resolved.timestamp, author: resolved.author,
                            changes: resolved.changes))
                    return true
                }
                return found
            }
        }
    }

    /// The end of history when all that is committed is part of it; nil otherwise.
    /// - Throws: as ``head()``.
    func settledHead() throws -> Token? {
        let head = try head()
        return unsettled == nil ? head : nil
    }

    /// - Throws: `busy` or `readOnly` when the last query could not make all that is committed part
    ///   of history: what it did not find may be there.
    func requireSettled() throws {
        guard let unsettled else { return }
        throw SyncError(
            unsettled.isTransient ? .busy : .readOnly, unsettled.reason, hint: unsettled.hint)
    }

    /// Makes what is committed part of history, as far as possible now: see
    /// ``LiveLog/settle()``.
    ///
    /// - Returns: the ends of the transactions that are recorded and not in the history tables.
    /// - Throws: as ``poll()``.
    @discardableResult
    func settle() throws -> [Boundary] {
        try mendCapture()
        let settlement = try live.withState { _, live in try live.settle() }
        lastUnsettled.withLock { $0 = settlement.unsettled }
        return settlement.boundaries
    }
}

extension BoundaryJournal {
    /// The journal of a store in the folder of a daemon.
    package convenience init(directory: String, of store: Store) {
        self.init(directory: directory, replica: store.replica, epoch: store.epoch)
    }
}
