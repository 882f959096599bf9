import SyncCore
import SyncMerge
import SyncStorage

/// The transactions that a replica lacks that has merged a vector, as batches.
///
/// Transactions are in the merge order of this replica: any prefix of it is a causal cut, so that
/// the receiver may stop after any batch. A fact is sent with its transaction; overwritten facts
/// are not stored any more.
struct OutgoingBatches {
    /// Transactions in one batch.
    static let transactionsMax = 20_000
    /// Changes that the transactions of one batch list: more than facts where these were
    /// overwritten. A reader refuses a batch with more than ``BatchLimits/factsMax``.
    static let changesMax = 250_000
    /// Bytes of the records that a batch is made of, unless one transaction has more.
    static let recordBytesMax = 32 << 20

    let storage: ReplicaStorage
    let identity: StoreIdentity
    /// The CREATE statements that a new replica begins with; sent with a snapshot, and with a
    /// statement of a schema, for receivers that read version 1 alone.
    let schema: [String]
    /// What replicas state of their schemas.
    let schemas: [SchemaRecord]
    /// What they stated before.
    let formerSchemas: [SchemaRecord]
    /// The merge policies as JSON; empty: the defaults.
    let policies: String
    /// What entities and columns are called here that have another identity.
    let names: [EntityNames]

    /// The batches, in the order in which they are to be merged. A replica that lacks something
    /// that was collected here gets one snapshot instead: everything as one batch. Its parts would
    /// not be causal, because collecting leaves gaps.
    /// - Parameters:
    ///   - factsMax: facts in one batch, unless one transaction has more.
    ///   - rowBytesMax: bytes of one row: a batch that has a larger one throws `refused`.
    ///   - memoryMax: bytes of transactions and records in memory; others go to a temporary file.
    /// - Throws: SQLite errors; `corrupt`, `badData` for rows that cannot be read; `diskFull` where
    ///   there is no room for a temporary file.
    /// - Complexity: O(lacking transactions, and the objects that they wrote); in memory a few
    ///   numbers for every thousand of them (``OutgoingParts``).
    func extraction(
        since: VersionVector, factsMax: Int, rowBytesMax: Int, memoryMax: Int
    ) throws -> OutgoingExtraction {
        let collected = try storage.history.settings.vector(.collected)
        let isWhole = !since.covers(collected)
        let since = isWhole ? VersionVector() : since
        let first = try storage.headers.firstPlace(lackingTo: since)
        let parts = try OutgoingParts.collected(
            storage, since: since, after: first.map { isWhole ? 0 : $0 - 1 }, factsMax: factsMax,
            rowBytesMax: rowBytesMax, memoryMax: memoryMax)
        var extraction = OutgoingExtraction(parts, of: storage)
        let ranges =
            isWhole
            ? [parts.parts.indices].filter { !$0.isEmpty }
            : Self.divided(parts.parts, factsMax: factsMax)
        var from = since
        for range in ranges {
            var batch = frame(
                from: from, upTo: parts.parts[range.upperBound - 1].upTo,
                entities: parts.described.entities)
            batch.collected = collected
            from = batch.upTo
            extraction.frames.append(.init(batch: batch, parts: range))
        }
        for place in extraction.frames.indices.dropLast() {
            extraction.frames[place].batch.goal = from
        }
        if isWhole, !extraction.frames.isEmpty {
            extraction.frames[0].batch.hasGaps = true
            extraction.frames[0].batch.upTo = try storage.headers.vector()
        }
        return extraction
    }

    /// A batch without transactions and facts.
    private func frame(
        from: VersionVector, upTo: VersionVector, entities: [Batch.Entity]
    ) -> Batch {
        var batch = Batch(
            store: identity.store, sender: identity.replica, from: from, upTo: upTo,
            entities: entities, transactions: [], facts: [])
        batch.names = names
        batch.extras.policies = policies
        batch.schemas = statements(from: from, upTo: upTo)
        // A new replica begins with the newest, whatever else of them it has yet.
        if from.isEmpty { batch.schemas += schemas.filter { !batch.schemas.contains($0) } }
        if from.isEmpty || !batch.schemas.isEmpty { batch.extras.schema = schema }
        return batch
    }

    /// The statements that were sent with the transactions of a batch, the oldest first. A replica
    /// that has merged these needs the newest one of each replica, even if it has been replaced
    /// since, and those before it: what two replicas changed at the same time is found by comparing
    /// with what both had seen, so that an object that one of them made and dropped is not new.
    private func statements(from: VersionVector, upTo: VersionVector) -> [SchemaRecord] {
        (schemas + formerSchemas).filter { !from.covers($0.dot) && upTo.covers($0.dot) }
            .sorted { $0.isOlder(than: $1) }
    }

    /// Puts parts together to batches: each has as many as the limits allow, and one at least.
    /// - Complexity: O(parts)
    static func divided(_ parts: [OutgoingPart], factsMax: Int) -> [Range<Int>] {
        var ranges: [Range<Int>] = []
        var start = 0
        while start < parts.count {
            var sum = parts[start]
            var end = start + 1
            while end < parts.count, sum.factCount + parts[end].factCount <= factsMax,
                sum.transactionCount + parts[end].transactionCount <= transactionsMax,
                sum.changeCount + parts[end].changeCount <= changesMax,
                sum.recordBytes + parts[end].recordBytes <= recordBytesMax
            {
                sum.factCount += parts[end].factCount
                sum.transactionCount += parts[end].transactionCount
                sum.changeCount += parts[end].changeCount
                sum.recordBytes += parts[end].recordBytes
                end += 1
            }
            ranges.append(start..<end)
            start = end
        }
        return ranges
    }
}
