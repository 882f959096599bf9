import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

/// What writers have committed since the last time, to be stated as facts.
struct LocalStatement {
    let entries: [HistoryTail.Entry]
    /// One for each entry; at the first time one more, of the rows that no entry tells of.
    let headers: [TransactionHeader]
    let last: TransactionHeader
    let schema: ReplicaSchema
    let identity: StoreIdentity
    let salt: FormerReplicas
    /// What the rows are called that are older than a join; nil: the database has not just joined.
    var joined: JoinedNames?

    /// A statement on a region.
    struct Outcome {
        let region: AffectedRegion
        let consolidation: CommitConsolidation
        let recorded: RecordedCommit

        /// The key of each row by the identity that it is shown under.
        var keys: [ObjectUID: [Value]] {
            var keys: [ObjectUID: [Value]] = [:]
            for (key, name) in recorded.names {
                keys[recorded.view.shownAs[name] ?? name] = key.values
            }
            return keys
        }
    }

    /// The keys that the transactions name.
    var touchedKeys: Set<RowKey> {
        var positions: [Int64: Int?] = [:]
        var keys: Set<RowKey> = []
        for change in entries.lazy.flatMap(\.changes) {
            let known = positions[change.entity.id]
            let position = known ?? schema.position(of: change.entity.name)
            positions[change.entity.id] = .some(position)
            guard let position, schema.tables[position].key.count == change.key.values.count
            else { continue }
            keys.insert(RowKey(entity: position, change.key.values))
        }
        return keys
    }

    /// The facts, on a region that holds the rows that were touched.
    func stated(on region: AffectedRegion, _ view: View) throws -> Outcome {
        let consolidation = CommitConsolidation(
            entries, schema, replica: identity.replica,
            isPresent: { region.names[$0] != nil }, exists: { region.rows[$0] != nil })
        let commit = Commit(
            rows: region.rows.map { Commit.Row($0.key, values: $0.value) }
                .sorted { $0.key.precedes($1.key) },
            recreated: consolidation.recreated, rekeyed: consolidation.rekeyed,
            dates: consolidation.dates)
        let recorded = try region.state.record(
            commit, view: view, names: region.names, headers: Array(headers.dropLast()), last: last
        ) { uid(of: $0, consolidation.arrivals[$0]) }
        return Outcome(region: region, consolidation: consolidation, recorded: recorded)
    }

    private func uid(of key: RowKey, _ birth: HistoryTail.Birth?) -> ObjectUID {
        if birth == nil, let joined {
            return joined.uid(
                of: key, entity: schema.tables[key.entity].name, store: identity.store,
                replica: identity.replica)
        }
        return PrivateIdentity.uid(
            store: identity.store, replica: salt.replica(of: birth?.seq ?? 0),
            entity: schema.tables[key.entity].name, key: key.values[0], birth: birth)
    }

    // MARK: History

    /// What history tells of the transactions, for other replicas.
    func transactions(_ outcome: Outcome, isFirst: Bool) -> [Batch.Transaction] {
        var transactions: [Batch.Transaction] = []
        for (place, entry) in entries.enumerated() {
            var transaction = Batch.Transaction(headers[place])
            transaction.author = entry.author
            transaction.context = entry.context
            transaction.process = entry.process?.name
            transaction.pid = entry.process?.pid
            transaction.flags = UInt64(entry.flags.rawValue)
            transaction.changes = outcome.consolidation.changes[place].compactMap { change in
                object(of: change, outcome).map {
                    Batch.Change(
                        $0, entity: change.key.entity, kind: change.kind, cells: change.cells)
                }
            }
            transactions.append(transaction)
        }
        if isFirst {
            var beginning = Batch.Transaction(last)
            let told = Set(outcome.consolidation.births.keys)
            beginning.changes = outcome.recorded.names.filter { !told.contains($0.key) }
                .sorted { $0.key.precedes($1.key) }
                .map { Batch.Change($0.value, entity: $0.key.entity, kind: .insert) }
            transactions.append(beginning)
        }
        return transactions
    }

    /// The object that a change was about. One that came and went in between has an identity of
    /// which nobody else will hear; a natural key has none then.
    private func object(of change: CommitConsolidation.KeyedChange, _ outcome: Outcome)
        -> ObjectUID?
    {
        if let origin = change.origin, let name = outcome.region.names[origin] { return name }
        if let birth = change.birth, outcome.consolidation.births[change.key] == birth,
            let name = outcome.recorded.names[change.key]
        {
            return name
        }
        guard schema.merge.entities[change.key.entity].isPrivate else { return nil }
        return uid(of: change.key, change.birth)
    }
}
