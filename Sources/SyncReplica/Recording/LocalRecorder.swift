import SyncMerge

/// Records what writers have committed since the last time as facts.
///
/// Invariants
/// - After it the facts cover everything that is in the tables: nothing is merged before.
/// - A transaction is recorded once: `syncd_meta.stated` is the number of the last one.
/// - The first time, rows that no transaction of history covers are recorded as older than it.
struct LocalRecorder {
    private let transaction: MergeTransaction
    private let storage: ReplicaStorage
    /// Whether the tables have all rows that the records show: not those of a table that was
    /// created again, before the caller shows them.
    private let isShown: Bool

    init(_ transaction: MergeTransaction, isShown: Bool) {
        self.transaction = transaction
        self.isShown = isShown
        storage = transaction.storage
    }

    private var schema: ReplicaSchema { storage.schema }

    /// Records all transactions that are not recorded yet.
    /// - Parameter isRestructured: whether the tables still show repairs of a former schema. The
    ///   caller shows them all again then.
    /// - Returns: whether the tables are the view; if not, the caller shows them all again.
    /// - Throws: `refused` for an older row that its own table refuses; `internalFault`; `corrupt`,
    ///   `badData` for stored records that cannot be read; what
    ///   SQLite says. The transaction has to be rolled back then.
    /// - Complexity: O(changes, and what is unresolved); the first time O(rows of the store).
    func record(isRestructured: Bool) throws -> Bool {
        let settings = transaction.settings
        let isFirst = try settings.value(.stated) == .null
        let tables = LoggedTables(schema, catalog: storage.history.catalog)
        let entries = try storage.unrecorded.entries(
            after: try settings.position(.stated), limits: transaction.environment.partition,
            measuredBy: try ChangeMeasure(storage, tables: tables)
        ).filter(\.isLocal)
        guard isFirst || !entries.isEmpty else { return true }
        var headers = try self.headers(of: entries)
        if isFirst { headers.append(try headerOfOlderRows(after: headers.last)) }
        guard let last = headers.last else { return true }
        let former = try FormerReplicas(
            settings.value(.former), present: transaction.identity.replica)
        var recording = LocalRecording(
            entries: entries, headers: headers, last: last, schema: schema,
            tables: tables,
            identity: transaction.identity, former: former,
            privateIdentity: PrivateIdentity(
                store: transaction.identity.store,
                births: try settings.integerIfPresent(.births)),
            joined: isFirst ? try JoinedNames(transaction.connection, schema: schema) : nil)
        if !isFirst, !isRestructured, try hasTakenLane(recording) { return true }
        if isFirst, try hasStatedWindows(recording) { return true }
        recording = try recording.loaded(from: storage.unrecorded)
        if isFirst, try hasStatedRows(recording) { return true }
        let outcome: LocalRecording.Outcome
        if isFirst {
            outcome = try firstRecorded(recording)
        } else if isRestructured {
            outcome = try recordedWithoutFormerRepairs(recording)
        } else {
            outcome = try settled(recording)
        }
        for transaction in recording.transactions(of: outcome, isFirst: isFirst) {
            try self.transaction.append(transaction)
        }
        if isFirst { try JoinedNames.drop(transaction.connection) }
        try settings.set(.stated, to: .integer(storage.history.head))
        try RegionUpdate(transaction).store(
            outcome.region, state: outcome.recorded.state, view: outcome.recorded.view,
            keys: outcome.keys)
        guard outcome.isSettled else { return false }
        try verify(after: "recording local transactions")
        try RegionUpdate(transaction).renumber(after: outcome.recorded.view)
        return true
    }

    /// Records all rows without a view of them, and without the changes of the log in memory.
    /// - Returns: false where that is not possible; nothing is recorded then.
    private func hasStatedWindows(_ recording: LocalRecording) throws -> Bool {
        guard !transaction.environment.isGeneral,
            try WindowedStatement.state(recording, in: transaction)
        else { return false }
        try endFirst()
        return true
    }

    /// Records all rows without a view of them.
    /// - Returns: false where that is not possible; nothing is recorded then.
    private func hasStatedRows(_ recording: LocalRecording) throws -> Bool {
        guard !transaction.environment.isGeneral else { return false }
        if let obstacle = try FirstStatement(recording, in: transaction).store() {
            transaction.environment.tally.count(obstacle: obstacle.rawValue)
            return false
        }
        try endFirst()
        return true
    }

    private func verify(after step: String) throws {
        if isShown { try StateVerifier(transaction).verify(after: step) }
    }

    private func endFirst() throws {
        try JoinedNames.drop(transaction.connection)
        try transaction.settings.set(.stated, to: .integer(storage.history.head))
        try verify(after: "the first statement")
    }

    /// Records what was written row by row.
    /// - Returns: false where that is not possible; nothing is recorded then.
    private func hasTakenLane(_ recording: LocalRecording) throws -> Bool {
        guard transaction.environment.usesLocalLane, !transaction.environment.isGeneral,
            try LocalLane.state(recording, in: transaction)
        else { return false }
        try transaction.settings.set(.stated, to: .integer(storage.history.head))
        try verify(after: "stating local transactions")
        return true
    }

    /// Records all rows by a view of them.
    /// - Throws: `refused` for a row that its own table refuses: no facts show it.
    private func firstRecorded(_ recording: LocalRecording) throws -> LocalRecording.Outcome {
        let region = try RegionLoader.whole(in: storage)
        do {
            return try recording.recorded(on: region, view: View(region.state))
        } catch let error as SyncError where error.code == .internalFault {
            let arrivals = recording.consolidation.arrivals
            let refused = try RefusedRow.first(in: storage) { key in
                recording.uid(of: key, birth: arrivals[key])
            }
            throw refused?.error ?? error
        }
    }

    /// Records so that the view equals the tables. Where the rules do not get there, which is a
    /// fault of theirs, the writes are stated as they are rather than refused each time: what the
    /// view does not show of them is in the conflict log. Simulations get the fault.
    private func settled(_ recording: LocalRecording) throws -> LocalRecording.Outcome {
        do {
            return try recorded(recording, with: try RegionLoader(storage))
        } catch let error as SyncError
            where error.code == .internalFault && !transaction.environment.isVerifying
        {
            let region = try RegionLoader.whole(in: storage)
            return try recording.recorded(on: region, view: View(region.state), isSettling: false)
        }
    }

    /// Records on all objects and rows, with the rows that show a repair of a former schema as the
    /// present one shows them: what the writers wrote is stated, and no repair. Where the present
    /// schema does not show what they wrote, it is in the conflict log.
    private func recordedWithoutFormerRepairs(
        _ recording: LocalRecording
    ) throws -> LocalRecording.Outcome {
        var region = try RegionLoader.whole(in: storage)
        region.state.formerRows = region.formerRows
        let view = View(region.state)
        let repairs = FormerRepairs(
            in: region, image: try storage.image(of: view, in: region))
        let recovered = recording.recoveredUpdates.filter { key in
            guard let row = region.rows[key] else { return false }
            return repairs.written(Array(row.indices), of: row, at: key).isEmpty
        }
        let written = recording.touchedKeys.subtracting(recovered)
        return try recording.recorded(
            on: repairs.undone(besides: written), view: view, isSettling: false)
    }

    /// Records on a region that grows until it holds everything that the recording needs.
    private func recorded(
        _ recording: LocalRecording, with loader: RegionLoader
    ) throws -> LocalRecording.Outcome {
        let touched = recording.touchedKeys
        let hasUnresolved = !loader.region.objects.isEmpty
        try loader.add(keys: touched)
        _ = try loader.addTargets(ofRows: touched)
        for key in touched.sorted(by: { $0.precedes($1) })
        where loader.region.rows[key] == nil && loader.region.names[key] != nil {
            _ = try loader.addReferrers(to: key)
        }
        // Unresolved rows, too: without its target a row of the tables has no place in the view.
        while try loader.addTargets(ofRows: Self.insideKeys(of: loader.region)) {}
        if hasUnresolved, try !hasLoadedWhatWritersSaw(with: loader) {
            let region = try RegionLoader.whole(in: storage)
            return try recording.recorded(on: region, view: View(region.state))
        }
        for _ in 0..<RegionUpdate.roundsMax {
            let region = loader.region
            let outcome = try recording.recorded(on: region, view: View(region.state))
            // An identity that was assigned may have been used before.
            var isNew = try loader.add(
                outcome.recorded.names.values.filter { region.objects[$0] == nil }.sorted())
            let image = try storage.image(of: outcome.recorded.view, in: region)
            isNew =
                try loader.loadMissing(
                    for: outcome.recorded.state, view: outcome.recorded.view, image: image)
                || isNew
            isNew = try loader.addTargets(ofRows: Self.insideKeys(of: loader.region)) || isNew
            if !isNew {
                try image.requireAllSpelled()
                return outcome
            }
        }
        let region = try RegionLoader.whole(in: storage)
        return try recording.recorded(on: region, view: View(region.state))
    }

    /// Loads the rows around unresolved ones, as the view before the commit needs them. Without the
    /// row that has its UNIQUE value, a row that was shown with NULL would count as written.
    /// - Returns: whether that came to an end; if not, everything has to be loaded.
    private func hasLoadedWhatWritersSaw(with loader: RegionLoader) throws -> Bool {
        for _ in 0..<RegionUpdate.roundsMax {
            let region = loader.region
            let view = View(region.state)
            let image = try storage.image(of: view, in: region)
            guard try loader.loadMissing(for: region.state, view: view, image: image) else {
                return true
            }
        }
        return false
    }

    /// The keys of the rows of a region that are no boundary rows.
    private static func insideKeys(of region: AffectedRegion) -> [RowKey] {
        region.names.filter { !region.state.boundaryRows.contains($0.value) }.map(\.key)
            .sorted { $0.precedes($1) }
    }

    // MARK: Headers

    private func headers(
        of entries: [UnrecordedTransactions.Entry]
    ) throws -> [TransactionHeader] {
        var seen = try storage.headers.vector()
        return entries.map { entry in
            let header = TransactionHeader(
                Dot(transaction.identity.replica, entry.number),
                time: transaction.reading(wall: entry.time.milliseconds), seen: seen)
            seen.advance(to: header.dot)
            return header
        }
    }

    /// The header of the rows that are older than history: they are as old as the store. Where the
    /// database joined another store they are older than that one: what was written there since
    /// is newer than a value that nobody has changed here.
    private func headerOfOlderRows(after last: TransactionHeader?) throws -> TransactionHeader {
        let number = storage.history.allocate(1).upperBound
        var seen = try storage.headers.vector()
        if let last { seen.advance(to: last.dot) }
        let joined = try transaction.settings.value(.joined)
        let created = try transaction.settings.integer(joined == .null ? .created : .joined)
        return TransactionHeader(
            Dot(transaction.identity.replica, number), time: HybridTime(milliseconds: created),
            seen: seen)
    }
}
