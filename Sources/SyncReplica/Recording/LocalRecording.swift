import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

/// Local transactions and the facts that they become.
struct LocalRecording {
    /// Without their changes, until these are loaded (``loaded(from:)``).
    private(set) var entries: [UnrecordedTransactions.Entry]
    /// One for each entry; the first time one more, of the rows that are older than history.
    let headers: [TransactionHeader]
    let last: TransactionHeader
    let schema: ReplicaSchema
    /// What the changes of the entries are about.
    let tables: LoggedTables
    let identity: StoreIdentity
    let former: FormerReplicas
    /// The identities of rows with numbers.
    let privateIdentity: PrivateIdentity
    /// The identities of rows that are older than a join; nil: the database has not just joined.
    var joined: JoinedNames?

    /// The facts, recorded on a region.
    struct Outcome {
        let region: AffectedRegion
        let consolidation: CommitConsolidation
        let recorded: RecordedCommit
        /// Whether the tables are the view.
        var isSettled = true

        /// The key of each row by the identity that it is shown under; where the tables are not the
        /// view, by its own.
        var keys: [ObjectUID: [Value]] {
            var keys: [ObjectUID: [Value]] = [:]
            for (key, name) in recorded.names {
                keys[isSettled ? recorded.view.shownAs[name] ?? name : name] = key.values
            }
            return keys
        }
    }

    /// The same with all changes in memory, for what needs them together.
    /// - Throws: as ``UnrecordedTransactions/loaded(_:)``, ``LoggedTables/find(_:)``.
    /// - Complexity: O(changes), some 500 bytes each
    func loaded(from unrecorded: UnrecordedTransactions) throws -> LocalRecording {
        var recording = self
        recording.entries = try unrecorded.loaded(entries)
        try tables.find(of: recording.entries)
        return recording
    }

    /// The keys of the rows that the transactions changed.
    /// - Complexity: O(changes)
    var touchedKeys: Set<RowKey> { keys(of: entries.flatMap(\.changes)) }

    /// The keys of rows of which a comparison alone says that they may have been updated: it logs
    /// every row whose former values it does not know.
    /// - Complexity: O(changes)
    var recoveredUpdates: Set<RowKey> {
        func isGuess(_ entry: UnrecordedTransactions.Entry) -> Bool {
            entry.flags.contains(.recovered)
        }
        guard entries.contains(where: isGuess) else { return [] }
        let guessed = entries.filter(isGuess).flatMap(\.changes)
        let known = entries.filter { !isGuess($0) }.flatMap(\.changes)
        return keys(of: guessed.filter { $0.kind == .update })
            .subtracting(keys(of: known + guessed.filter { $0.kind != .update }))
    }

    private func keys(of changes: [NetChange]) -> Set<RowKey> {
        var keys: Set<RowKey> = []
        for change in changes {
            guard let position = tables[change.entity]?.position,
                schema.tables[position].key.count == change.key.values.count
            else { continue }
            keys.insert(schema.merge.key(position, change.key.values))
        }
        return keys
    }

    /// Records the facts on a region that holds the rows that were changed.
    /// - Parameters:
    ///   - view: the view of the region's state.
    ///   - isSettling: whether the view equals the tables afterwards.
    /// - Throws: `internalFault`.
    /// - Complexity: O(rows of the region)
    func recorded(
        on region: AffectedRegion, view: View, isSettling: Bool = true
    ) throws -> Outcome {
        let consolidation = CommitConsolidation(
            of: entries, schema: schema, tables: tables, replica: identity.replica,
            isPresent: { region.names[$0] != nil }, exists: { region.rows[$0] != nil })
        let commit = Commit(
            rows: region.rows.map { Commit.Row($0.key, values: $0.value) }
                .sorted { $0.key.precedes($1.key) },
            recreated: consolidation.recreated, rekeyed: consolidation.rekeyed,
            dates: consolidation.dates, guessed: recoveredUpdates)
        let recorded = try region.state.record(
            commit, view: view, names: region.names, headers: Array(headers.dropLast()), last: last,
            isSettling: isSettling
        ) { uid(of: $0, birth: consolidation.arrivals[$0]) }
        return Outcome(
            region: region, consolidation: consolidation, recorded: recorded,
            isSettled: recorded.isSettled)
    }

    /// The identity of a row with a number for a key.
    /// - Parameter birth: the insert that it began with; nil: it is older than history.
    func uid(of key: RowKey, birth: ObjectBirth?) -> ObjectUID {
        if birth == nil, let joined {
            if let name = joined[key] { return name }
            // As a row older than history it would have the identity of the other store's row.
            return uid(of: key, birth: .beforeJoin, replica: identity.replica)
        }
        return uid(of: key, birth: birth, replica: former.replica(of: birth?.seq ?? 0))
    }

    private func uid(of key: RowKey, birth: ObjectBirth?, replica: ReplicaID) -> ObjectUID {
        privateIdentity.uid(
            of: key.values[0], in: schema.merge.entities[key.entity].name, replica: replica,
            birth: birth)
    }

    /// What the entries did, where no row was known before them.
    /// - Complexity: O(changes)
    var consolidation: CommitConsolidation {
        CommitConsolidation(
            of: entries, schema: schema, tables: tables, replica: identity.replica,
            isPresent: { _ in false }, exists: { _ in true })
    }

    // MARK: History

    /// The transactions as batches describe them.
    /// - Parameter isFirst: whether the last one has the rows that are older than history.
    /// - Complexity: O(changes); the first time O(rows of the store).
    func transactions(of outcome: Outcome, isFirst: Bool) -> [Batch.Transaction] {
        var transactions = entries.indices.map { place in
            transaction(at: place, of: outcome.consolidation) { change in
                object(of: change, in: outcome)
            }
        }
        if isFirst {
            var older = Batch.Transaction(last)
            let born = Set(outcome.consolidation.births.keys)
            older.changes = outcome.recorded.names.filter { !born.contains($0.key) }
                .sorted { $0.key.comesBefore($1.key) }
                .map { Batch.Change($0.value, entity: $0.key.entity, kind: .insert) }
            transactions.append(older)
        }
        return transactions
    }

    /// The transaction of an entry.
    /// - Parameter object: the object of a change; a change without one is left out.
    /// - Complexity: O(changes of the entry)
    func transaction(
        at place: Int, of consolidation: CommitConsolidation,
        naming object: (CommitConsolidation.KeyedChange) throws -> ObjectUID?
    ) rethrows -> Batch.Transaction {
        var transaction = transaction(at: place)
        transaction.changes = try consolidation.changes[place].compactMap { change in
            try object(change).map {
                Batch.Change(
                    $0, entity: change.key.entity, kind: change.kind, cells: change.cells)
            }
        }
        return transaction
    }

    /// The transaction of an entry, without its changes.
    func transaction(at place: Int) -> Batch.Transaction {
        let entry = entries[place]
        var transaction = Batch.Transaction(headers[place])
        transaction.author = entry.author
        transaction.context = entry.context
        transaction.process = entry.process?.name
        transaction.pid = entry.process?.pid
        transaction.flags = UInt64(entry.flags.rawValue)
        return transaction
    }

    /// The object of a change. One that was inserted and deleted in between gets an identity that
    /// no fact names; with a natural key it gets none.
    private func object(
        of change: CommitConsolidation.KeyedChange, in outcome: Outcome
    ) -> ObjectUID? {
        if let origin = change.origin, let name = outcome.region.names[origin] { return name }
        return object(of: change, outcome.consolidation) { outcome.recorded.names[$0] }
    }

    /// The object of a change of a row that was not known before.
    /// - Parameter name: the identity of the row that has a key now.
    func object(
        of change: CommitConsolidation.KeyedChange, _ consolidation: CommitConsolidation,
        naming name: (RowKey) throws -> ObjectUID?
    ) rethrows -> ObjectUID? {
        if let birth = change.birth, consolidation.births[change.key] == birth,
            let name = try name(change.key)
        {
            return name
        }
        guard schema.merge.entities[change.key.entity].isPrivate else { return nil }
        return uid(of: change.key, birth: change.birth)
    }
}
