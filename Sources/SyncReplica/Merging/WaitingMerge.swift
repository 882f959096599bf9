import SyncMerge

/// Merges kept facts after a change of the schema that gives them a place.
///
/// Invariant: their transactions are merged already, so that only records, tables and the conflict
/// log change, and no header is appended.
struct WaitingMerge {
    private let transaction: MergeTransaction
    private let storage: ReplicaStorage

    init(_ transaction: MergeTransaction) {
        self.transaction = transaction
        storage = transaction.storage
    }

    private var schema: MergeSchema { storage.schema.merge }

    /// Merges and shows the facts that have a place now.
    /// - Throws: as ``RegionUpdate/show(_:transactions:hints:adding:)``.
    /// - Complexity: O(kept facts, and what is unresolved)
    func merge() throws {
        let (placed, hints) = try storage.unknown.removeAll { schema.place(of: $0) }
        guard !placed.isEmpty else { return }
        let facts = placed + schema.defaults(of: placed, besides: try storage.unknown.all())
        let loader = try RegionLoader(storage)
        let objects = facts.compactMap(\.object)
        try loader.add(objects)
        for dot in Set(facts.map(\.dot)) {
            try loader.loadHeader(dot)
            try transaction.resend(dot)
        }
        try RegionUpdate(transaction).show(loader, transactions: [], hints: hints) { state in
            for fact in facts { state.insert(fact) }
            state.fill(objects)
        }
        try logOverwritten(placed)
    }

    /// A local write that was made while a fact waited overwrites it by the rules: this replica had
    /// merged its transaction. But the writer could not see it, so the conflict log gets an entry.
    private func logOverwritten(_ placed: [Fact]) throws {
        let facts = Dictionary(grouping: placed) { $0.object }
        for case .cell(let uid, let entity, let cell, let version) in placed {
            guard let object = try storage.objects.object(uid) else { continue }
            let dots = object.record.cells[cell].map(\.dot)
            if dots.contains(version.dot) {
                try logDeleted(version, of: uid, cell: cell, object: object)
                continue
            }
            let rivals = (facts[uid] ?? []).compactMap { fact -> Dot? in
                guard case .cell(_, _, cell, let other) = fact else { return nil }
                return other.dot
            }
            func hasSeen(_ later: Dot) throws -> Bool {
                guard later != version.dot, let header = try storage.headers.header(later) else {
                    return false
                }
                return header.seen.covers(version.dot)
            }
            guard try !rivals.contains(where: hasSeen),
                let met = try dots.first(where: {
                    try $0.replica == transaction.identity.replica && hasSeen($0)
                })
            else { continue }
            let shown = object.record.cells[cell].first { $0.dot == met }
            if let shown, version.stated.allSatisfy({ shown.value[$0] == version.value[$0] }) {
                continue
            }
            try storage.conflicts.writeClosed(
                ConflictStorage.Entry(
                    id: VersionID(uid, cell: cell, dot: version.dot), entity: entity, reason: .lost,
                    value: ConflictStorage.encoded(version.value), key: object.key, met: met),
                schema: schema, number: storage.history.head)
        }
    }

    /// The same of a local delete.
    private func logDeleted(
        _ version: Version, of uid: ObjectUID, cell: Int, object: StoredObject
    ) throws {
        let own = transaction.identity.replica
        let newest = object.record.incarnation
        let life = object.record.life.filter { $0.incarnation == newest }
        guard version.incarnation == newest, !life.contains(where: { $0.kind == .created }),
            let delete = life.first(where: { $0.kind == .deleted && $0.dot.replica == own }),
            let header = try storage.headers.header(delete.dot), header.seen.covers(version.dot)
        else { return }
        try storage.conflicts.writeClosed(
            ConflictStorage.Entry(
                id: VersionID(uid, cell: cell, dot: version.dot), entity: object.record.entity,
                reason: .hidden, value: ConflictStorage.encoded(version.value), key: object.key,
                met: delete.dot),
            schema: schema, number: storage.history.head)
    }
}
