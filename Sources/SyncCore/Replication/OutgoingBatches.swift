/// What somebody who has merged a vector lacks, as batches.
///
/// Transactions stand in the order in which they were merged here: any prefix of it is a causal
/// cut, so that the receiver may stop after any batch. A fact goes with its transaction; facts that
/// a later one overwrote are not there any more.
struct OutgoingBatches {
    /// Facts in one batch, unless one transaction has more. Fewer cost envelopes; more take the
    /// memory of who decodes them.
    static let factsMax = 100_000
    /// Transactions in one batch.
    static let transactionsMax = 20_000

    private let prepared: MergeSession.Prepared
    private let identity: StoreIdentity

    init(_ prepared: MergeSession.Prepared, _ identity: StoreIdentity) {
        self.prepared = prepared
        self.identity = identity
    }

    /// The batches, in the order in which they are to be merged.
    /// - Parameter schema: what a new replica begins with; goes with a snapshot alone.
    /// - Complexity: O(transactions that are lacking, and objects that they told of)
    func batches(
        since: VersionVector, schema: [String], policies: String,
        factsMax: Int = OutgoingBatches.factsMax
    ) throws -> [Batch] {
        guard let first = try prepared.headers.firstPlace(lackingTo: since) else { return [] }
        var transactions: [Batch.Transaction] = []
        var places: [Dot: Int] = [:]
        try prepared.headers.forEach(after: first - 1) { _, header, details in
            guard !since.covers(header.dot) else { return }
            places[header.dot] = transactions.count
            transactions.append(
                try HeaderDetails.decode(
                    details, header, entity: prepared.shapes.position(of:)))
        }
        var facts: [[Fact]] = Array(repeating: [], count: transactions.count)
        var numbers: [ObjectUID: Int64] = [:]
        try prepared.objects.forEach(after: first - 1) { uid, object in
            let entity = object.record.entity
            for life in object.record.life {
                if let place = places[life.dot] {
                    facts[place].append(.life(uid, entity: entity, life))
                }
            }
            for (cell, versions) in object.record.cells.enumerated() {
                for version in versions {
                    guard let place = places[version.dot] else { continue }
                    facts[place].append(.cell(uid, entity: entity, cell: cell, version))
                }
            }
            if let number = object.number { numbers[uid] = number }
        }
        var described = DescribedEntities(prepared.schema.merge.batchEntities)
        for unknown in try prepared.unknown.all() {
            guard let place = places[unknown.fact.dot] else { continue }
            facts[place].append(described.described(unknown))
        }
        for (alias, dot) in try prepared.objects.aliases().sorted(by: { $0.key < $1.key }) {
            guard let place = places[dot] else { continue }
            facts[place].append(.alias(alias.first, alias.second, dot))
        }
        return cut(
            transactions, facts, described.entities, numbers, since, schema, policies, factsMax)
    }

    private func cut(
        _ transactions: [Batch.Transaction], _ facts: [[Fact]], _ entities: [Batch.Entity],
        _ numbers: [ObjectUID: Int64], _ since: VersionVector, _ schema: [String],
        _ policies: String, _ factsMax: Int
    ) -> [Batch] {
        var batches: [Batch] = []
        var from = since
        var start = 0
        while start < transactions.count {
            var end = start + 1
            var count = facts[start].count
            while end < transactions.count, end - start < Self.transactionsMax,
                count + facts[end].count <= factsMax
            {
                count += facts[end].count
                end += 1
            }
            var upTo = from
            for transaction in transactions[start..<end] {
                upTo.advance(to: transaction.header.dot)
            }
            var batch = Batch(
                store: identity.store, sender: identity.replica, from: from, upTo: upTo,
                entities: entities, transactions: Array(transactions[start..<end]),
                facts: Array(facts[start..<end].joined()))
            for fact in batch.facts {
                if let uid = fact.object, let number = numbers[uid] {
                    batch.extras.numbers[uid] = number
                }
            }
            batch.extras.policies = policies
            if from.isEmpty { batch.extras.schema = schema }
            batches.append(batch)
            from = upTo
            start = end
        }
        return batches
    }
}

extension Fact {
    /// The object that it is about; nil for an alias, which is about two.
    var object: ObjectUID? {
        switch self {
        case .alias: return nil
        case .life(let uid, _, _), .cell(let uid, _, _, _): return uid
        }
    }
}

extension MergeSchema {
    /// The entities as a batch describes them.
    package var batchEntities: [Batch.Entity] {
        entities.map { entity in
            Batch.Entity(
                name: entity.name, isPrivate: entity.isPrivate,
                cells: entity.cells.map { $0.map { entity.columns[$0].name } })
        }
    }
}
