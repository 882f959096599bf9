import SyncMerge
import SyncStorage
import SyncValues

/// The first statement of a store: all rows of its tables as facts, read row by row and stored at
/// once.
///
/// Where the tables satisfy their constraints the view of these facts is the tables, so each object
/// is *plain* and depends on nothing but its row: no region is loaded and no view is computed. Rows
/// of which that is not certain (``StatementObstacle``) make the whole statement go the general way
/// (``RegionLoader/whole(in:)``), which stores the same, byte for byte, but for the numbers of the
/// rows in `syncd_object`.
///
/// Memory: what the log has of rows that were written since the store is tracked; where that is
/// much, the log is read in windows (``WindowedStatement``). The lists of the older rows
/// (``OlderTransactions``), some 18 bytes a row, are in a temporary file. All is one transaction of
/// SQLite: docs/merge-design.md, *The first statement*, with what was measured.
struct FirstStatement {
    private let transaction: MergeTransaction
    private let storage: ReplicaStorage
    private let recording: LocalRecording

    init(_ recording: LocalRecording, in transaction: MergeTransaction) {
        self.recording = recording
        self.transaction = transaction
        storage = transaction.storage
    }

    private var schema: ReplicaSchema { storage.schema }

    /// Stores the objects of all rows, and the headers of the transactions.
    /// - Returns: why nothing was stored; nil: everything is.
    /// - Throws: `refused` for a row that its table refuses; SQLite errors.
    /// - Complexity: O(rows of the store)
    func store() throws -> StatementObstacle? {
        guard try storage.objects.isEmpty() else { return .notFirst }
        if let obstacle = StatementObstacle(in: schema.merge) { return obstacle }
        // Rolled back with the transaction, and not with an obstacle.
        _ = try storage.replicas.number(of: recording.last.dot.replica)
        let head = storage.history.head
        do {
            try storeAll()
            return nil
        } catch let obstacle as StatementObstacle {
            try storage.objects.removeAll()
            storage.history.release(after: head)
            return obstacle
        }
    }

    private func storeAll() throws {
        storage.totals.begin()
        let consolidation = recording.consolidation
        let identities = RowIdentities(storage) { [recording] key in
            recording.uid(of: key, birth: consolidation.arrivals[key])
        }
        let older = OlderTransactions(
            recording.last, at: transaction.nextPosition + Int64(recording.entries.count),
            in: transaction)
        let rows = try RowStating(
            recording, identities: identities, storage: storage,
            firstPosition: transaction.nextPosition, older: older)
        _ = try rows.state(datedBy: consolidation)
        rows.end()
        for place in recording.entries.indices {
            try transaction.append(
                try recording.transaction(at: place, of: consolidation) {
                    try recording.object(of: $0, consolidation) { key in
                        // What the log knows of a number need not be read.
                        try identities.isNumbered(key.entity)
                            && consolidation.arrivals[key] == consolidation.births[key]
                            ? identities.uid(of: key) : identities.uid(ofRowAt: key)
                    }
                })
        }
        try older.store()
        transaction.environment.tally.count(plain: rows.count)
    }
}
