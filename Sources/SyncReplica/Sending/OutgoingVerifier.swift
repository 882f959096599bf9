import SyncMerge
import SyncStorage

/// Checks batches against the stored records, read as objects: for simulations
/// (``MergeEnvironment/isVerifying``).
///
/// - A batch has each fact of a stored record or an alias that is of one of its transactions, once,
///   and no other; transactions with facts that are only forwarded are left out.
/// - Encoded from its columns it has the bytes of the same facts encoded as objects.
struct OutgoingVerifier {
    private let storage: ReplicaStorage

    init(_ storage: ReplicaStorage) { self.storage = storage }

    /// - Throws: `internalFault` where one of these does not hold; SQLite errors.
    /// - Complexity: O(facts of the store)
    func verify(_ batches: [Batch]) throws {
        var stored: [Dot: [Fact]] = [:]
        func add(_ record: ObjectRecord, of uid: ObjectUID, as entity: Int) {
            for life in record.life {
                stored[life.dot, default: []].append(.life(uid, entity: entity, life))
            }
            for (cell, versions) in record.cells.enumerated() {
                for version in versions {
                    stored[version.dot, default: []].append(
                        .cell(uid, entity: entity, cell: cell, version))
                }
            }
        }
        for (uid, object) in try storage.objects.all() {
            add(object.record, of: uid, as: object.record.entity)
        }
        // Of tables that were dropped. All batches describe the same entities.
        let entities = batches.first?.entities ?? []
        try storage.objects.forEachForeign { uid, foreign, record in
            let place = entities.lastIndex {
                $0.name == foreign.name && $0.isPrivate == foreign.isPrivate
            }
            if let place { add(record, of: uid, as: place) }
        }
        for (alias, dot) in try storage.objects.aliases() {
            stored[dot, default: []].append(.alias(alias.first, alias.second, dot))
        }
        // Those of parts of cells are in other cells of the batch.
        let parts = stored.filter { $0.value.contains(where: \.isPartial) }.keys
        let unknown = Set(try storage.unknown.all().map(\.fact.dot)).union(parts)
        for batch in batches {
            let facts = batch.facts
            for transaction in batch.transactions where !unknown.contains(transaction.header.dot) {
                let expected = stored[transaction.header.dot] ?? []
                let found = facts.filter { $0.dot == transaction.header.dot }
                guard found.count == expected.count, Set(found) == Set(expected) else {
                    throw SyncError(
                        .internalFault,
                        "a batch has \(found) of \(transaction.header.dot), not \(expected)")
                }
            }
            var listed = batch
            listed.facts = facts
            guard try BatchEncoder.content(of: batch) == BatchEncoder.content(of: listed) else {
                throw SyncError(.internalFault, "a batch is encoded to other bytes than its facts")
            }
        }
    }
}
