import SyncCore
import SyncMerge
import SyncStorage

/// The transactions that a replica lacks that has merged a vector, as batches.
///
/// Transactions are in the merge order of this replica: any prefix of it is a causal cut, so that
/// the receiver may stop after any batch. A fact is sent with its transaction; overwritten facts
/// are not stored any more.
struct OutgoingBatches {
    /// Facts in one batch, unless one transaction has more. With fewer, envelopes take more of the
    /// bytes; with more, decoding takes more memory.
    static let factsMax = 100_000
    /// Transactions in one batch.
    static let transactionsMax = 20_000

    let storage: ReplicaStorage
    let identity: StoreIdentity
    /// The CREATE statements that a new replica begins with; sent with a snapshot, and with a
    /// statement of a schema, for receivers that read version 1 alone.
    let schema: [String]
    /// What replicas state of their schemas.
    let schemas: [SchemaRecord]
    /// The merge policies as JSON; empty: the defaults.
    let policies: String
    /// What entities and columns are called here that have another identity.
    let names: [EntityNames]

    /// The batches, in the order in which they are to be merged. A replica that lacks something
    /// that was collected here gets one snapshot instead.
    /// - Parameter factsMax: facts in one batch, unless one transaction has more.
    /// - Throws: SQLite errors; `corrupt`, `badData` for rows that cannot be read.
    /// - Complexity: O(lacking transactions, and the objects that they wrote)
    func batches(
        since: VersionVector, factsMax: Int = OutgoingBatches.factsMax
    ) throws -> [Batch] {
        let collected = try storage.history.settings.vector(.collected)
        guard since.covers(collected) else {
            guard since.isEmpty else {
                return try batches(since: VersionVector(), factsMax: .max)
            }
            return try whole(collected: collected)
        }
        guard let first = try storage.headers.firstPlace(lackingTo: since) else { return [] }
        return divided(
            try content(after: first - 1, since: since), since: since, collected: collected,
            factsMax: factsMax, transactionsMax: Self.transactionsMax)
    }

    /// Everything as one batch. Its parts would not be causal: collecting leaves gaps.
    private func whole(collected: VersionVector) throws -> [Batch] {
        var batches = divided(
            try content(after: 0, since: VersionVector()), since: VersionVector(),
            collected: collected, factsMax: .max, transactionsMax: .max)
        guard batches.count == 1 else { return batches }
        batches[0].hasGaps = true
        batches[0].upTo = try storage.headers.vector()
        return batches
    }

    private struct Content {
        let transactions: [Batch.Transaction]
        let facts: ArrivingFacts
        /// By position among the objects of the facts: the private number.
        let numbers: [Int64?]
        let entities: [Batch.Entity]
    }

    /// What was merged after a position and `since` does not cover.
    private func content(after place: Int64, since: VersionVector) throws -> Content {
        var described = DescribedEntities(storage.schema.merge.batchEntities)
        var transactions: [Batch.Transaction] = []
        var places: [Dot: Int] = [:]
        try storage.headers.forEach(after: place) { _, header, details in
            guard !since.covers(header.dot) else { return }
            places[header.dot] = transactions.count
            transactions.append(
                try HeaderDetails.decode(details, of: header) { number in
                    if let position = storage.shapes.position(of: number) { return position }
                    return try storage.shapes.foreign(number).map { described.place(of: $0) }
                })
        }
        var facts = try OutgoingFacts(
            of: transactions.map(\.header.dot), replicas: storage.replicas)
        let schema = storage.schema.merge
        let widths = schema.entities.map { $0.cells.map(\.count) }
        try storage.objects.forEachRecord(after: place) { uid, entity, number, record in
            // Shared numbers are facts.
            let isPrivate = schema.entities[entity].hasPrivateNumbers
            try facts.add(
                record, of: uid, entity: entity, widths: widths[entity],
                number: isPrivate ? number : nil)
        }
        var writes: [Write: [Int]] = [:]
        for unknown in try storage.unknown.all() {
            guard let place = places[unknown.fact.dot] else { continue }
            let fact = described.described(unknown)
            let number = try unknown.number ?? fact.object.flatMap(number(of:))
            facts.add(fact, of: place, number: number)
            if case .cell(let uid, let entity, let cell, _) = fact {
                writes[Write(transaction: place, object: uid, entity: entity), default: []]
                    .append(cell)
            }
        }
        nameForwardedCells(writes, in: &transactions)
        for (alias, dot) in try storage.objects.aliases().sorted(by: { $0.key < $1.key }) {
            guard let place = places[dot] else { continue }
            facts.add(.alias(alias.first, alias.second, dot), of: place, number: nil)
        }
        // A change may name a cell without a fact that is still current.
        for place in transactions.indices {
            for change in transactions[place].changes.indices {
                let entity = transactions[place].changes[change].entity
                let count = described.entities[entity].cells.count
                transactions[place].changes[change].cells.removeAll { $0 >= count }
            }
        }
        return Content(
            transactions: transactions, facts: facts.finished(), numbers: facts.numbers,
            entities: described.entities)
    }

    /// The private number of a stored object.
    private func number(of uid: ObjectUID) throws -> Int64? {
        guard let object = try storage.objects.object(uid),
            storage.schema.merge.entities[object.record.entity].hasPrivateNumbers
        else { return nil }
        return object.number
    }

    /// Cells of one object that a transaction wrote and that this replica has no column for.
    private struct Write: Hashable {
        let transaction: Int
        let object: ObjectUID
        let entity: Int
    }

    /// Headers name the cells that this replica has; the receiver may have the others, too.
    private func nameForwardedCells(
        _ writes: [Write: [Int]], in transactions: inout [Batch.Transaction]
    ) {
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

    private func divided(
        _ content: Content, since: VersionVector, collected: VersionVector, factsMax: Int,
        transactionsMax: Int
    ) -> [Batch] {
        let (transactions, facts) = (content.transactions, content.facts)
        let whole = Batch(
            store: identity.store, sender: identity.replica, from: since, upTo: since,
            entities: content.entities, transactions: transactions, arriving: facts)
        var batches: [Batch] = []
        var from = since
        var start = 0
        while start < transactions.count {
            var end = start + 1
            var count = facts.count(in: start..<end)
            while end < transactions.count, end - start < transactionsMax,
                facts.count(in: end..<end + 1) <= factsMax - count
            {
                count += facts.count(in: end..<end + 1)
                end += 1
            }
            var upTo = from
            for transaction in transactions[start..<end] {
                upTo.advance(to: transaction.header.dot)
            }
            var batch = whole.part(start..<end)
            (batch.from, batch.upTo) = (from, upTo)
            batch.collected = collected
            batch.names = names
            batch.extras.numbers = numbers(of: start..<end, in: content)
            batch.extras.policies = policies
            batch.schemas = schemas.filter {
                from.isEmpty || !from.covers($0.dot) && upTo.covers($0.dot)
            }
            if from.isEmpty || !batch.schemas.isEmpty { batch.extras.schema = schema }
            batches.append(batch)
            from = upTo
            start = end
        }
        for place in batches.indices.dropLast() { batches[place].goal = from }
        return batches
    }

    /// The private numbers of the objects of which some transactions have facts.
    private func numbers(of range: Range<Int>, in content: Content) -> [ObjectUID: Int64] {
        let facts = content.facts
        var isNamed = [Bool](repeating: false, count: facts.objects.count)
        for place in facts.places[facts.starts[range.lowerBound]..<facts.starts[range.upperBound]] {
            let row = Int(place.row)
            switch place.group {
            case 0: isNamed[Int(facts.lives.objects[row])] = true
            case 1: break
            default: isNamed[Int(facts.versions[Int(place.group) - 2].objects[row])] = true
            }
        }
        var numbers: [ObjectUID: Int64] = [:]
        numbers.reserveCapacity(isNamed.count)
        for (object, number) in content.numbers.enumerated() where isNamed[object] {
            if let number { numbers[facts.objects[object]] = number }
        }
        return numbers
    }
}
