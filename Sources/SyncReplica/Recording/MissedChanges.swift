import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

/// Compares all tables with what is recorded and merged, and appends to the log what differs and is
/// not logged, as one transaction flagged `recovered`.
///
/// Invariant: the records of the objects are the state of the tables as of the last recorded
/// transaction, and the log has the changes since then. What neither explains was not captured.
///
/// A table that was dropped and created again has only new rows; its former rows are shown again.
struct MissedChanges {
    /// What a comparison found.
    struct Report {
        /// How many changes were appended to the log.
        var count = 0
        /// Whether tables were created again, so that their former rows have to be shown.
        var hasReturned = false
    }

    private let transaction: MergeTransaction
    private let storage: ReplicaStorage

    init(_ transaction: MergeTransaction) {
        self.transaction = transaction
        storage = transaction.storage
    }

    private var schema: ReplicaSchema { storage.schema }

    /// Appends the missed changes.
    /// - Parameter isRestructured: whether the tables still show repairs of a former schema, which
    ///   are no changes.
    /// - Throws: `refused` for a table that was created again with rows of its own while the store
    ///   has unresolved rows; SQLite errors.
    /// - Complexity: O(rows and facts of the store); in memory what is logged and a region of
    ///   ``keysMax`` rows, beside unresolved objects one of what is logged and of the rows of their
    ///   tables that were written. All rows and facts for a schema whose constraints have changed,
    ///   or with tables that were created again.
    func record(isRestructured: Bool) throws -> Report {
        let settings = transaction.settings
        let returned = try returnedTables()
        let logged = try loggedChanges(after: try settings.integer(.stated))
        var log: LogAppender?
        var count = 0
        func note(_ change: Missed) throws {
            let appender =
                try log
                ?? LogAppender(transaction.connection, at: transaction.environment.wall())
            if log == nil { try appender.beginRecovery() }
            log = appender
            try append(change, to: appender)
            count += 1
        }
        if returned.isEmpty, !isRestructured {
            try requireSame(logged, as: try forEachMissed(logged, note))
        } else {
            try missedOfAll(logged, returnedTables: returned, isRestructured: isRestructured)
                .forEach(note)
        }
        try log?.end()
        try settings.set(.unseen, to: .integer(0))
        return Report(count: count, hasReturned: !returned.isEmpty)
    }

    // MARK: Tables that were created again

    /// Takes the former rows from the tables that were created again: none of the present rows is
    /// one of them.
    private func returnedTables() throws -> Set<Int> {
        let gone = try Metadata(transaction.database).goneTables()
        let returned = gone.filter { wasCreated(as: $0) }.compactMap { schema.position(of: $0) }
        guard !returned.isEmpty else { return [] }
        try requireNoMix(of: returned)
        for position in returned { try storage.objects.clearKeys(ofEntity: position) }
        try Metadata(transaction.database).setGoneTables(
            gone.filter { schema.position(of: $0) == nil })
        return Set(returned)
    }

    /// Whether the present table of a name began with it: one that was renamed to the name of a
    /// dropped table is another one.
    private func wasCreated(as name: String) -> Bool {
        let catalog = storage.history.catalog
        let now = catalog.present.first { SQLName.isEqual($0.name, to: name) }
        let first = catalog.all.first { $0.id == now?.lineage }
        return first.map { SQLName.isEqual($0.name, to: name) } ?? false
    }

    /// Unresolved rows are recorded together with the rows around them, which would count as
    /// deleted without their former rows. So a table has to be created again without rows where the
    /// store has unresolved ones.
    private func requireNoMix(of returned: [Int]) throws {
        guard try !storage.objects.unresolved().isEmpty else { return }
        for position in returned {
            let name = schema.tables[position].name
            let rows = try Statement(
                "SELECT 1 FROM \(SQLName.quoted(name)) LIMIT 1", on: transaction.connection)
            guard try rows.step() else { continue }
            throw SyncError(
                .refused,
                "the table \(name) was created again with rows of its own, and the store has open "
                    + "conflicts from before",
                hint: "Move its rows into another table, run: synctool sync DB; then insert them "
                    + "again when its former rows are back")
        }
    }

    // MARK: Comparing

    /// A change that was not captured.
    private struct Missed: Hashable {
        let key: RowKey
        let kind: LogKind
        /// Positions of the entity's columns that an update wrote.
        var columns: [Int] = []
        /// The row before; nil: unknown.
        var before: [Value]?
    }

    /// What the log has of a row since the last recorded transaction.
    private struct Logged {
        var kind = ChangeKind.update
        /// The row was inserted, so that all of its columns are logged.
        var isWhole = false
        var columns: Set<Int> = []
    }

    /// Some of the tables, and what is to be shown of the records.
    private struct Comparison {
        let region: AffectedRegion
        let view: View
        let image: TableImage
        var repairs: FormerRepairs?
        var returnedTables: Set<Int> = []
        var isRestructured = false
    }

    /// Rows that are compared at once, or more where more objects are unresolved, which each
    /// region has: a row takes some 4 kB, with what is around it.
    private static let keysMax = 2_000

    /// Calls `body` with the missed changes of the rows that are not explained by their records
    /// alone.
    ///
    /// What an unresolved row shows depends on rows around it as they were recorded: one that was
    /// written or deleted since is not found any more by what it was. So those that may be such a
    /// row are compared together with the unresolved ones.
    /// - Returns: them, in simulations.
    private func forEachMissed(
        _ logged: [RowKey: Logged], _ body: (Missed) throws -> Void
    ) throws -> Set<Missed> {
        let isVerifying = transaction.environment.isVerifying
        let unresolved = try storage.objects.objects(try storage.objects.unresolved())
        let troubled = Set(unresolved.values.map(\.record.entity))
        let keysMax = isVerifying ? 3 : max(Self.keysMax, unresolved.count)
        var keys: [RowKey] = []
        var together = Set(logged.keys.filter { !$0.values.contains(.null) })
        var all: Set<Missed> = []
        func compare() throws {
            if keys.isEmpty { return }
            let comparison = try comparison(of: keys)
            for key in keys.sorted(by: { $0.precedes($1) }) {
                guard let missed = missed(key, logged, in: comparison) else { continue }
                if isVerifying { all.insert(missed) }
                try body(missed)
            }
            keys = []
        }
        func add(_ key: RowKey) throws {
            keys.append(key)
            if keys.count >= keysMax { try compare() }
        }
        try UnexplainedRows(storage).forEach { key, isThere in
            if !troubled.isEmpty, !isThere || troubled.contains(key.entity) {
                together.insert(key)
            } else if logged[key] == nil {
                try add(key)
            }
        }
        try compare()
        if troubled.isEmpty {
            for key in together { try add(key) }
        } else {
            keys = Array(together)
        }
        try compare()
        return all
    }

    /// Some rows, with all that decides on how they are shown.
    private func comparison(of keys: [RowKey]) throws -> Comparison {
        let loader = try RegionLoader(storage)
        try loader.add(keys: keys)
        while true {
            let region = loader.region
            let view = View(region.state)
            let image = try storage.image(of: view, in: region)
            var isNew = try loader.loadMissing(for: region.state, view: view, image: image)
            isNew = try loader.addTargets(ofRows: keys.map(region.storedKey)) || isNew
            if !isNew { return Comparison(region: region, view: view, image: image) }
        }
    }

    /// The missed changes of all rows, by a view of all.
    private func missedOfAll(
        _ logged: [RowKey: Logged], returnedTables: Set<Int> = [], isRestructured: Bool = false
    ) throws -> [Missed] {
        var region = try RegionLoader.whole(in: storage)
        if isRestructured { region.state.formerRows = region.formerRows }
        let view = View(region.state)
        // Of former rows that are not shown yet some may have to be hidden: two may have one key.
        let image =
            returnedTables.isEmpty
            ? try storage.image(of: view, in: region)
            : try storage.draft(of: view, in: region, hints: [:])
        let comparison = Comparison(
            region: region, view: view, image: image,
            repairs: isRestructured ? FormerRepairs(in: region, image: image) : nil,
            returnedTables: returnedTables, isRestructured: isRestructured)
        return Set(image.rows.keys).union(region.rows.keys).union(logged.keys)
            .sorted { $0.precedes($1) }.filter { !$0.values.contains(.null) }
            .compactMap { missed($0, logged, in: comparison) }
    }

    /// For simulations: that a view of all rows finds the same.
    private func requireSame(_ logged: [RowKey: Logged], as found: Set<Missed>) throws {
        guard transaction.environment.isVerifying else { return }
        let all = Set(try missedOfAll(logged))
        guard all != found else { return }
        throw SyncError(
            .internalFault,
            "compared by parts, the tables differ otherwise: \(found.subtracting(all)) in place of "
                + "\(all.subtracting(found))")
    }

    private func missed(
        _ key: RowKey, _ logged: [RowKey: Logged], in comparison: Comparison
    ) -> Missed? {
        let key = comparison.region.storedKey(of: key)
        let (row, logged) = (comparison.region.rows[key], logged[key])
        let before =
            comparison.returnedTables.contains(key.entity) ? nil : comparison.image.rows[key]
        let isRepaired = logged == nil && comparison.repairs?.concern(key) ?? false
        if isRepaired, row == nil || before == nil {
            // What was shown, and is not there, was deleted, whatever it would be shown as.
            guard row == nil, comparison.region.names[key] != nil,
                !comparison.returnedTables.contains(key.entity)
            else { return nil }
            return Missed(key: key, kind: .delete, before: before)
        }
        let isExpected = logged.map { $0.kind != .delete } ?? (before != nil)
        guard let row else {
            return isExpected
                ? Missed(key: key, kind: .delete, before: logged == nil ? before : nil) : nil
        }
        guard isExpected else { return Missed(key: key, kind: .insert) }
        guard let before, !(logged?.isWhole ?? false) else { return nil }
        var columns = row.indices.filter { row[$0] != before[$0] }
        if isRepaired { columns = comparison.repairs?.written(columns, of: row, at: key) ?? [] }
        columns += unrecordedReferences(in: row, at: key, comparison)
        let unlogged = Set(columns).subtracting(logged?.columns ?? []).sorted()
        if unlogged.isEmpty { return nil }
        return Missed(
            key: key, kind: .update, columns: unlogged, before: logged == nil ? before : nil)
    }

    /// Columns that refer to a row since the table was rebuilt, and are recorded as plain values or
    /// as references to a row of the table that the foreign key named before.
    ///
    /// Under the schema by which the tables are shown, a plain value is what its writer stated: of
    /// a row that was not there, and may have come since. That is no change.
    private func unrecordedReferences(
        in row: [Value], at key: RowKey, _ comparison: Comparison
    ) -> [Int] {
        let (image, view) = (comparison.image, comparison.view)
        guard let fields = image.names[key].flatMap({ view.rows[$0]?.fields }) else { return [] }
        return schema.merge.entities[key.entity].references.flatMap { reference -> [Int] in
            let target = schema.merge.key(reference.target, reference.columns.map { row[$0] })
            guard let place = image.rows.index(forKey: target),
                !reference.isExact || image.rows[place].key.values == target.values,
                fields[reference.columns[0]].target.map({
                    view.rows[$0]?.entity != reference.target
                }) ?? comparison.isRestructured
            else { return [] }
            return reference.columns
        }
    }

    private func loggedChanges(after recorded: Int64) throws -> [RowKey: Logged] {
        var logged: [RowKey: Logged] = [:]
        let tables = LoggedTables(schema, catalog: storage.history.catalog)
        for entry in try storage.unrecorded.entries(
            after: recorded, limits: PartitionLimits(), measuredBy: nil)
        {
            try storage.unrecorded.forEachChange(of: entry) { change in
                guard let place = try tables.find(change.entity) else { return }
                let key = schema.merge.key(place.position, change.key.values)
                switch change.kind {
                case .insert: logged[key] = Logged(kind: .insert, isWhole: true)
                case .delete: logged[key] = Logged(kind: .delete)
                case .update:
                    logged[key, default: Logged()].columns.formUnion(
                        change.mask.positions.lazy.filter { $0 < place.columns.count }.compactMap {
                            place.columns[$0]
                        })
                }
            }
        }
        return logged
    }

    // MARK: Appending

    private func append(_ missed: Missed, to log: LogAppender) throws {
        let table = schema.tables[missed.key.entity]
        let catalog = storage.history.catalog
        guard
            let entity = catalog.present.first(where: { SQLName.isEqual($0.name, to: table.name) })
        else {
            throw SyncError(.internalFault, "\(table.name) is merged and not captured")
        }
        switch missed.kind {
        case .delete:
            guard let before = missed.before else {
                let bare = try catalog.withoutValues(entity, in: transaction.database)
                return try log.append(.delete, of: bare, values: missed.key.values)
            }
            let kept = entity.layout.kept.map { position in
                schema.column(entity.columnNames[position], of: missed.key.entity).map {
                    before[$0]
                } ?? .null
            }
            try log.append(.delete, of: entity, values: missed.key.values + kept)
        case .update:
            let bare =
                entity.keepsOldValues
                ? try catalog.withoutValues(entity, in: transaction.database) : entity
            var mask = ColumnMask()
            let names = Set(missed.columns.map { SQLName.folded(table.columns[$0]) })
            for (position, name) in bare.columnNames.enumerated()
            where names.contains(SQLName.folded(name)) {
                mask.insert(position)
            }
            try log.append(.update, of: bare, mask: mask, values: missed.key.values)
        default:
            try log.append(.insert, of: entity, values: missed.key.values)
        }
    }
}
