import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

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

    /// The batches, in the order in which they are to be merged. Who lacks something of what was
    /// collected here gets one snapshot instead.
    /// - Parameter schema: what a new replica begins with; goes with a snapshot alone.
    /// - Complexity: O(transactions that are lacking, and objects that they told of)
    func batches(
        since: VersionVector, schema: [String], policies: String,
        factsMax: Int = OutgoingBatches.factsMax
    ) throws -> [Batch] {
        let collected = try prepared.history.settings.vector(.collected)
        guard since.covers(collected) else {
            guard since.isEmpty else {
                return try batches(
                    since: VersionVector(), schema: schema, policies: policies, factsMax: .max)
            }
            return try whole(collected, schema, policies)
        }
        guard let first = try prepared.headers.firstPlace(lackingTo: since) else { return [] }
        return try cut(
            try content(after: first - 1, since), since, collected, schema, policies,
            factsMax: factsMax, transactionsMax: Self.transactionsMax)
    }

    /// Everything as one batch. Cut, its parts would not be causal: what was collected has left
    /// gaps between them.
    private func whole(
        _ collected: VersionVector, _ schema: [String], _ policies: String
    ) throws -> [Batch] {
        var batches = try cut(
            try content(after: 0, VersionVector()), VersionVector(), collected, schema, policies,
            factsMax: .max, transactionsMax: .max)
        guard batches.count == 1 else { return batches }
        batches[0].hasGaps = true
        batches[0].upTo = try prepared.headers.vector()
        return batches
    }

    private struct Content {
        var transactions: [Batch.Transaction] = []
        var facts: [[Fact]] = []
        var numbers: [ObjectUID: Int64] = [:]
        var entities: [Batch.Entity] = []
    }

    /// What was merged after a place and `since` does not cover.
    private func content(after place: Int64, _ since: VersionVector) throws -> Content {
        var described = DescribedEntities(prepared.schema.merge.batchEntities)
        var transactions: [Batch.Transaction] = []
        var places: [Dot: Int] = [:]
        try prepared.headers.forEach(after: place) { _, header, details in
            guard !since.covers(header.dot) else { return }
            places[header.dot] = transactions.count
            transactions.append(
                try HeaderDetails.decode(details, header) { number in
                    if let position = prepared.shapes.position(of: number) { return position }
                    return try prepared.shapes.foreign(number).map { described.place(of: $0) }
                })
        }
        var facts: [[Fact]] = Array(repeating: [], count: transactions.count)
        var numbers: [ObjectUID: Int64] = [:]
        try prepared.objects.forEach(after: place) { uid, object in
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
        var writes: [Write: [Int]] = [:]
        for unknown in try prepared.unknown.all() {
            guard let place = places[unknown.fact.dot] else { continue }
            let fact = described.described(unknown)
            facts[place].append(fact)
            if let uid = fact.object, let number = unknown.number { numbers[uid] = number }
            if case .cell(let uid, let entity, let cell, _) = fact {
                writes[Write(transaction: place, object: uid, entity: entity), default: []]
                    .append(cell)
            }
        }
        nameKept(writes, in: &transactions)
        for (alias, dot) in try prepared.objects.aliases().sorted(by: { $0.key < $1.key }) {
            guard let place = places[dot] else { continue }
            facts[place].append(.alias(alias.first, alias.second, dot))
        }
        // A change may name a cell of which nothing is left to forward.
        for place in transactions.indices {
            for change in transactions[place].changes.indices {
                let entity = transactions[place].changes[change].entity
                let count = described.entities[entity].cells.count
                transactions[place].changes[change].cells.removeAll { $0 >= count }
            }
        }
        return Content(
            transactions: transactions, facts: facts, numbers: numbers,
            entities: described.entities)
    }

    /// Cells of one object that a transaction wrote and that this replica has no column for.
    private struct Write: Hashable {
        let transaction: Int
        let object: ObjectUID
        let entity: Int
    }

    /// Headers name the cells that this replica has; the receiver may have the others, too.
    private func nameKept(_ writes: [Write: [Int]], in transactions: inout [Batch.Transaction]) {
        if writes.isEmpty { return }
        for place in transactions.indices {
            for change in transactions[place].changes.indices {
                let described = transactions[place].changes[change]
                guard described.kind == .update else { continue }
                let write = Write(
                    transaction: place, object: described.object, entity: described.entity)
                guard let cells = writes[write] else { continue }
                let all = Set(described.cells).union(cells).sorted()
                transactions[place].changes[change].cells = all
            }
        }
    }

    private func cut(
        _ content: Content, _ since: VersionVector, _ collected: VersionVector,
        _ schema: [String], _ policies: String, factsMax: Int, transactionsMax: Int
    ) throws -> [Batch] {
        let (transactions, facts) = (content.transactions, content.facts)
        var batches: [Batch] = []
        var from = since
        var start = 0
        while start < transactions.count {
            var end = start + 1
            var count = facts[start].count
            while end < transactions.count, end - start < transactionsMax,
                facts[end].count <= factsMax - count
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
                entities: content.entities, transactions: Array(transactions[start..<end]),
                facts: Array(facts[start..<end].joined()))
            batch.collected = collected
            for fact in batch.facts {
                if let uid = fact.object, let number = content.numbers[uid] {
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
