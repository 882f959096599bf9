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
    /// - Complexity: O(rows and facts of the store), in memory.
    func record(isRestructured: Bool) throws -> Report {
        let settings = transaction.settings
        let returned = try returnedTables()
        let missed = try missedChanges(
            after: try settings.integer(.stated), returnedTables: returned,
            isRestructured: isRestructured)
        if !missed.isEmpty {
            let log = try LogAppender(
                transaction.connection, at: transaction.environment.wall())
            try log.beginRecovery()
            for change in missed { try append(change, to: log) }
            try log.end()
        }
        try settings.set(.unseen, to: .integer(0))
        return Report(count: missed.count, hasReturned: !returned.isEmpty)
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
    private struct Missed {
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

    private func missedChanges(
        after recorded: Int64, returnedTables: Set<Int>, isRestructured: Bool
    ) throws -> [Missed] {
        let logged = try loggedChanges(after: recorded)
        var region = try RegionLoader.whole(in: storage)
        if isRestructured { region.state.formerRows = region.formerRows }
        let view = View(region.state)
        let image = try storage.image(of: view, in: region)
        let repairs = isRestructured ? FormerRepairs(in: region, image: image) : nil
        var missed: [Missed] = []
        let keys = Set(image.rows.keys).union(region.rows.keys).union(logged.keys)
        for key in keys.sorted(by: { $0.precedes($1) }) where !key.values.contains(.null) {
            let key = region.storedKey(of: key)
            let (row, logged) = (region.rows[key], logged[key])
            let before = returnedTables.contains(key.entity) ? nil : image.rows[key]
            let isRepaired = logged == nil && repairs?.concern(key) ?? false
            if isRepaired, row == nil || before == nil { continue }
            let isExpected = logged.map { $0.kind != .delete } ?? (before != nil)
            guard let row else {
                if isExpected {
                    missed.append(
                        Missed(key: key, kind: .delete, before: logged == nil ? before : nil))
                }
                continue
            }
            guard isExpected else {
                missed.append(Missed(key: key, kind: .insert))
                continue
            }
            guard let before, !(logged?.isWhole ?? false) else { continue }
            var columns = row.indices.filter { row[$0] != before[$0] }
            if isRepaired { columns = repairs?.written(columns, of: row, at: key) ?? [] }
            columns += unrecordedReferences(
                in: row, at: key, image: image, view: view, isRestructured: isRestructured)
            let unlogged = Set(columns).subtracting(logged?.columns ?? []).sorted()
            if !unlogged.isEmpty {
                missed.append(
                    Missed(
                        key: key, kind: .update, columns: unlogged,
                        before: logged == nil ? before : nil))
            }
        }
        return missed
    }

    /// Columns that refer to a row since the table was rebuilt, and are recorded as plain values or
    /// as references to a row of the table that the foreign key named before.
    ///
    /// Under the schema by which the tables are shown, a plain value is what its writer stated: of
    /// a row that was not there, and may have come since. That is no change.
    private func unrecordedReferences(
        in row: [Value], at key: RowKey, image: TableImage, view: View, isRestructured: Bool
    ) -> [Int] {
        guard let fields = image.names[key].flatMap({ view.rows[$0]?.fields }) else { return [] }
        return schema.merge.entities[key.entity].references.flatMap { reference -> [Int] in
            let target = schema.merge.key(reference.target, reference.columns.map { row[$0] })
            guard let place = image.rows.index(forKey: target),
                !reference.isExact || image.rows[place].key.values == target.values,
                fields[reference.columns[0]].target.map({
                    view.rows[$0]?.entity != reference.target
                }) ?? isRestructured
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
