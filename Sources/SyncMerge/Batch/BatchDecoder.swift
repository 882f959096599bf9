import SyncValues

/// Reads batches from untrusted senders. Hostile bytes are an error: never a crash, never unbounded
/// memory, never a batch that breaks what merging relies on.
package enum BatchDecoder {
    /// Reads a whole batch.
    ///
    /// What a decoded batch promises: every fact belongs to a transaction of the batch, to an
    /// entity and cell that the batch describes, with a value for each column; each transaction
    /// follows what its writer had seen; `upTo` is what they lead to from `from`.
    /// - Throws: `badData` or `newerFormat`, with the reason; `notAllowed` for a sealed batch.
    package static func decode(_ bytes: [UInt8]) throws -> Batch {
        let (envelope, payload) = try parts(bytes)
        if let key = envelope.key {
            throw SyncError(
                .notAllowed, "the batch is encrypted with key \(key), which is not here",
                hint: "Get the key, then run: synctool key import DB FILE")
        }
        try envelope.requireValidSignature()
        return try decode(content: try content(of: payload, envelope), envelope)
    }

    /// Reads a batch as far as it is possible without a key: a sealed one up to its payload's hash,
    /// any other one completely.
    /// - Throws: `badData` or `newerFormat`, with the reason.
    package static func verify(_ bytes: [UInt8]) throws -> BatchEnvelope {
        let (envelope, payload) = try parts(bytes)
        try envelope.requireValidSignature()
        if envelope.key == nil {
            _ = try decode(content: try content(of: payload, envelope), envelope)
        }
        return envelope
    }

    private static func content(
        of payload: ArraySlice<UInt8>, _ envelope: BatchEnvelope
    ) throws -> [UInt8] {
        let salt = envelope.signature == nil ? 0 : BatchSignature.saltBytes
        return try Compression.decompress(payload.dropFirst(salt), count: envelope.contentBytes)
    }

    /// Splits a batch into envelope and payload, and checks that they belong together.
    /// - Throws: `badData` or `newerFormat`, with the reason.
    package static func parts(
        _ bytes: [UInt8]
    ) throws -> (envelope: BatchEnvelope, payload: ArraySlice<UInt8>) {
        let (envelope, start) = try BatchEnvelope.read(bytes)
        let payload = bytes[start...]
        guard payload.count == envelope.payloadBytes else {
            throw SyncError(
                .badData,
                payload.count < envelope.payloadBytes
                    ? "the batch is cut short" : "the batch has a tail")
        }
        guard envelope.matches(payload) else {
            throw SyncError(.badData, "the payload of the batch is damaged")
        }
        return (envelope, payload)
    }

    /// Reads the content of a batch.
    /// - Throws: `badData`, with the reason.
    package static func decode(content: [UInt8], _ envelope: BatchEnvelope) throws -> Batch {
        var reader = ByteReader(content)
        let tables = try BatchTables(&reader)
        let transactions = try TransactionColumns.read(from: &reader, tables: tables)
        let facts = try FactColumns.read(
            from: &reader, tables: tables, dots: transactions.map(\.header.dot))
        let extras =
            envelope.hasExtras ? try ExtrasColumns.read(from: &reader, tables: tables) : .init()
        let names = envelope.hasNames ? try NameColumns.read(from: &reader) : []
        var proofs = envelope.hasProofs ? try ProofColumns.read(envelope, from: &reader) : [:]
        if let signature = envelope.signature { proofs[envelope.sender] = signature.proof }
        let replicaNames =
            envelope.hasReplicaNames ? try ReplicaNameColumns.read(from: &reader) : [:]
        let decisions = envelope.hasDecisions ? try DecisionColumns.read(from: &reader) : []
        let sections = envelope.hasSections ? try BatchSections.read(from: &reader) : .init()
        guard reader.isAtEnd else { throw SyncError(.badData, "the content has a tail") }
        guard transactions.count == envelope.transactionCount,
            facts.places.count == envelope.factCount
        else { throw SyncError(.badData, "the batch holds other counts than its envelope says") }
        try check(transactions, against: envelope)
        try checkLives(of: facts, in: transactions)
        var batch = Batch(
            store: envelope.store, sender: envelope.sender, from: envelope.from,
            upTo: envelope.upTo, entities: tables.entities, transactions: transactions,
            arriving: facts)
        batch.extras = extras
        batch.names = names
        batch.collected = envelope.collected
        batch.hasGaps = envelope.hasGaps
        batch.goal = envelope.goal
        batch.sums = envelope.sums
        batch.proofs = proofs
        batch.replicaNames = replicaNames
        batch.decisions = decisions
        batch.isSnapshot = envelope.from.isEmpty
        batch.schemas = sections.schemas
        return batch
    }

    /// A batch is a causal cut: merged, it must leave no gap. Transactions that were dropped by a
    /// collection are no gap: nothing is left of them.
    private static func check(
        _ transactions: [Batch.Transaction], against envelope: BatchEnvelope
    ) throws {
        var merged = envelope.from
        for transaction in transactions {
            let header = transaction.header
            guard !merged.covers(header.dot) else {
                throw SyncError(.badData, "transaction \(header.dot) comes twice or too late")
            }
            guard envelope.hasGaps || merged.covers(header.seen) else {
                throw SyncError(
                    .badData, "transaction \(header.dot) comes before what it had seen")
            }
            merged.advance(to: header.dot)
        }
        guard merged == envelope.upTo || envelope.hasGaps && envelope.upTo.covers(merged) else {
            throw SyncError(.badData, "the batch does not lead to where its envelope says")
        }
    }

    /// An object's first life may be older than history; each later one began with a transaction
    /// that had seen the end of the one before. A greater number is forged, and could leave no
    /// number for the next life.
    private static func checkLives(
        of facts: ArrivingFacts, in transactions: [Batch.Transaction]
    ) throws {
        let known = transactions.map { transaction in
            var seen = transaction.header.seen
            seen.advance(to: transaction.header.dot)
            return seen.transactionsMax
        }
        func check(_ incarnations: [Int32], _ transactions: [Int32]) throws {
            for (incarnation, transaction) in zip(incarnations, transactions) {
                guard Int64(incarnation) - 1 <= known[Int(transaction)] else {
                    throw SyncError(
                        .badData, "an object has more lives than its writer had seen transactions")
                }
            }
        }
        try check(facts.lives.incarnations, facts.lives.transactions)
        for versions in facts.versions {
            try check(versions.incarnations, versions.transactions)
        }
    }
}
