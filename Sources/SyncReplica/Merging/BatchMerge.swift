import SyncMerge
import SyncValues

/// Merges batches of other replicas.
///
/// Invariants
/// - The vector advances only with the facts that it covers: both are in one transaction.
/// - A fact is merged at most once: facts that the vector covers are skipped, because they are
///   here, overwritten or collected.
/// - Facts without a place in the schema are kept (``UnknownFacts``), and never dropped.
struct BatchMerge {
    private let transaction: MergeTransaction
    private let storage: ReplicaStorage

    init(_ transaction: MergeTransaction) {
        self.transaction = transaction
        storage = transaction.storage
    }

    private var schema: ReplicaSchema { storage.schema }

    /// Facts of one would be merged as the other's.
    private static func refuseAmbiguousNames(in batch: Batch) throws {
        try AmbiguousNames.refuse(
            batch.entities.lazy.map(\.name), in: "two tables of the remote have")
        for entity in batch.entities {
            try AmbiguousNames.refuse(
                entity.cells.joined(),
                in: "two columns of '\(entity.name.printable(countMax: 60))' at the remote have")
        }
    }

    /// Merges a batch and shows it.
    /// - Returns: false when it starts after what is merged here.
    /// - Throws: `badData`, `refused` for batches that no replica of this store can have written;
    ///   as ``RegionUpdate/show(_:transactions:hints:beside:adding:)``.
    /// - Parameter proved: the links of the slice before; those after this one when it returns.
    /// - Complexity: O(facts of the batch, and what is unresolved)
    func merge(_ batch: Batch, proved: inout [ReplicaID: ChainLink]) throws -> Bool {
        let merged = try storage.headers.vector()
        guard merged.covers(batch.from) else { return false }
        try Self.refuseAmbiguousNames(in: batch)
        try OwnTransactions(transaction).requireKnown(in: batch, merged: merged)
        let proofs = try SignedMerging(batch, merged: merged, in: transaction)
            .verify(after: proved)
        proved = proofs.links
        try storage.schemas.note(
            Self.statements(of: batch, after: merged), own: transaction.identity.replica)
        let fresh = batch.transactions.filter { !merged.covers($0.header.dot) }
        let gaps = SnapshotGaps(of: batch, merged: merged, in: transaction)
        var doubts = SnapshotDoubts(about: batch, in: transaction)
        let dropped = try doubts.confirmed(besides: try gaps.leftOut())
        guard !fresh.isEmpty || !dropped.isEmpty else {
            try gaps.store()
            try doubts.store()
            try doubts.keep()
            try proofs.store(in: storage)
            try ReplicaNaming(transaction).adopt(batch.replicaNames)
            return true
        }
        try storage.totals.beginIfEmpty(storage.objects)
        let changes = try ArrivingChanges(batch, schema: schema.merge, shapes: storage.shapes)
        let lane =
            dropped.isEmpty
            ? try FastLane.take(batch, fresh: fresh, merged: merged, in: transaction) : nil
        if let lane, try lane.write() {
            if lane.refusals.isEmpty {
                try append(fresh, changes)
                try lane.writeHistory()
                try lane.writeConflicts()
                try StateVerifier(transaction).verify(after: "a merge by the fast lane")
            } else {
                try mergeGenerally(batch, fresh, merged, changes, beside: lane.changes().beside)
            }
        } else {
            try mergeGenerally(batch, fresh, merged, changes, dropped: dropped)
        }
        try NameStorage(transaction.connection).note(batch)
        if batch.isRenamed { try transaction.settings.set(.renamed, to: .integer(1)) }
        try doubts.deleteEmpty(dropped.keys)
        try gaps.store()
        try doubts.store()
        try doubts.keep()
        try proofs.store(in: storage)
        try ReplicaNaming(transaction).adopt(batch.replicaNames)
        try SumKeeping(storage, identity: transaction.identity).note(goal: batch.likelyGoal)
        return true
    }

    /// What a batch states of schemas, without what is ahead of its transaction: the first batch of
    /// a snapshot has the newest of all, for a new replica to begin with. A statement says what its
    /// replica had seen by its transaction, with which it comes again.
    private static func statements(
        of batch: Batch, after merged: VersionVector
    ) -> [SchemaRecord] {
        if merged.isEmpty { return batch.schemas }
        return batch.schemas.filter { merged.covers($0.dot) || batch.upTo.covers($0.dot) }
    }

    private func append(_ fresh: [Batch.Transaction], _ changes: ArrivingChanges) throws {
        for entry in fresh {
            transaction.observe(entry.header.time)
            try transaction.append(entry.header, details: changes.details(of: entry))
        }
    }

    /// - Parameter lane: what the fast lane has merged of the slice; the rest is merged here.
    private func mergeGenerally(
        _ batch: Batch, _ fresh: [Batch.Transaction], _ merged: VersionVector,
        _ changes: ArrivingChanges, dropped: [ObjectUID: ObjectRecord] = [:],
        beside lane: ChangesBeside? = nil
    ) throws {
        var (delta, unknown) = batch.resolved(in: schema.merge)
        delta = delta.adding(batch.defaults(in: schema.merge))
        if let lane { delta = delta.leavingOut(lane.objects) }
        // Before the headers are appended: their facts are not merged yet.
        let loader = try RegionLoader(storage)
        let verifier = try LaneVerifier(
            of: delta, after: merged, numbers: batch.extras.numbers,
            hasGaps: batch.hasGaps || !dropped.isEmpty, in: transaction)
        try append(fresh, changes)
        let objects = Self.objects(of: delta, after: merged).union(dropped.keys)
        try loader.add(objects.sorted())
        try keep(unknown.filter { !merged.covers($0.fact.dot) }, of: batch)
        let result = try RegionUpdate(transaction).show(
            loader, transactions: fresh.map(changes.shown), hints: batch.extras.numbers,
            beside: lane
        ) { state in
            for (uid, record) in dropped { state.objects[uid] = record }
            guard state.merge(delta) else {
                throw SyncError(.internalFault, "a batch that fits does not fit its region")
            }
            state.fill(objects)
        }
        try verifier?.verify(result)
    }

    /// The objects of the facts of a delta that `merged` does not cover.
    private static func objects(
        of delta: Delta, after merged: VersionVector
    ) -> Set<ObjectUID> {
        var uids: Set<ObjectUID> = []
        for fact in delta.facts where !merged.covers(fact.dot) {
            switch fact {
            case .alias(let first, let second, _): uids.formUnion([first, second])
            case .life(let uid, _, _), .cell(let uid, _, _, _): uids.insert(uid)
            }
        }
        return uids
    }

    private func keep(_ unknown: [Batch.UnplacedFact], of batch: Batch) throws {
        for unplaced in unknown {
            let number = unplaced.fact.object.flatMap { batch.extras.numbers[$0] }
            try storage.unknown.write(
                unplaced.fact, of: batch.entities[unplaced.entity], columns: unplaced.columns,
                number: number)
            // An object that is dead here may be alive where the fact has a place.
            try storage.marks.remove(from: unplaced.fact.named)
        }
    }
}

extension Delta {
    /// The same without the facts about some objects.
    fileprivate func leavingOut(_ objects: Set<ObjectUID>) -> Delta {
        Delta(
            since: since, headers: headers,
            facts: facts.filter { fact in
                fact.object.map { !objects.contains($0) } ?? true
            })
    }
}
