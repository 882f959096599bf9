import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

extension MergeWork {
    /// Compares all tables with what was stated and merged, and appends to the log what differs and
    /// is not in the log yet, as one transaction flagged `recovered`.
    ///
    /// The records of the objects are the state of the tables as of the last transaction that was
    /// stated; what was logged since accounts for the rest. So nothing else has to be kept.
    /// A table that was dropped, and is there again, has new rows alone: those of before come back.
    /// - Complexity: O(rows and facts of the store), in memory.
    func recordMissed() throws -> MissedReport {
        let settings = prepared.history.settings
        let returned = try returnedTables()
        let missed = try missedChanges(after: try settings.integer(.stated), returned)
        if !missed.isEmpty {
            let log = try LogAppender(session.connection, at: session.environment.wall())
            try log.beginRecovery()
            for change in missed { try append(change, log) }
            try log.end()
        }
        try settings.set(.unseen, .integer(0))
        return MissedReport(count: missed.count, hasReturned: !returned.isEmpty)
    }

    /// What a comparison found.
    struct MissedReport {
        /// How many changes were appended to the log.
        var count = 0
        /// Tables are there again whose rows have to be shown.
        var hasReturned = false
    }

    /// Takes the rows of before from the tables that are there again: none of these is theirs.
    private func returnedTables() throws -> Set<Int> {
        let gone = try StoreMeta.goneTables(session.database)
        let returned = gone.compactMap(schema.position)
        guard !returned.isEmpty else { return [] }
        try refuseMixing(returned)
        for position in returned {
            try Statement(
                session.connection, "UPDATE syncd_object SET key = NULL WHERE shape = ?1"
            ).run(.integer(prepared.shapes.number(of: position)))
        }
        try StoreMeta.setGone(session.database, gone.filter { schema.position(of: $0) == nil })
        return Set(returned)
    }

    /// Rows unresolved are stated with what stands around them: without their rows of before they
    /// would be taken for deleted. So a table comes back empty where there are any.
    private func refuseMixing(_ returned: [Int]) throws {
        let unresolved = try Statement(
            session.connection, "SELECT 1 FROM syncd_object WHERE state = ?1 LIMIT 1")
        unresolved.bind(1, StoredObject.State.unresolved.rawValue)
        guard try unresolved.step() else { return }
        for position in returned {
            let name = schema.tables[position].name
            let rows = try Statement(
                session.connection, "SELECT 1 FROM \(SQLName.quoted(name)) LIMIT 1")
            guard try rows.step() else { continue }
            throw SyncError(
                .refused,
                "the table \(name) is there again with rows of its own, and the store has open "
                    + "conflicts from before",
                hint: "Move its rows into another table, run: synctool sync DB and insert them "
                    + "again when its rows of before are back")
        }
    }

    /// A change that nobody recorded.
    private struct Missed {
        let key: RowKey
        let kind: LogKind
        /// Positions of the entity's columns that an update wrote.
        var columns: [Int] = []
        /// The row as it was; nil: it is not known.
        var before: [Value]?
    }

    /// What the log tells of a row since it was stated.
    private struct Told {
        var kind = Change.Kind.update
        /// The row was inserted, so that all of its columns are told.
        var isWhole = false
        var columns: Set<Int> = []
    }

    private func missedChanges(
        after stated: Int64, _ returned: Set<Int>
    ) throws -> [Missed] {
        let told = try toldChanges(after: stated)
        let region = try RegionLoader.whole(prepared)
        let view = View(region.state)
        let image = try self.image(view, region)
        var missed: [Missed] = []
        let keys = Set(image.rows.keys).union(region.rows.keys).union(told.keys)
        for key in keys.sorted(by: { $0.precedes($1) }) where !key.values.contains(.null) {
            let (row, told) = (region.rows[key], told[key])
            let before = returned.contains(key.entity) ? nil : image.rows[key]
            let isExpected = told.map { $0.kind != .delete } ?? (before != nil)
            guard let row else {
                if isExpected {
                    missed.append(
                        Missed(key: key, kind: .delete, before: told == nil ? before : nil))
                }
                continue
            }
            guard isExpected else {
                missed.append(Missed(key: key, kind: .insert))
                continue
            }
            guard let before, !(told?.isWhole ?? false) else { continue }
            var columns = row.indices.filter { row[$0] != before[$0] }
            columns += mereNumbers(key, row, image, view)
            let isTold = told?.columns ?? []
            let untold = Set(columns).subtracting(isTold).sorted()
            if !untold.isEmpty {
                missed.append(
                    Missed(
                        key: key, kind: .update, columns: untold,
                        before: told == nil ? before : nil))
            }
        }
        return missed
    }

    /// Columns that refer to a row since the table was rebuilt, and were stated as mere values.
    private func mereNumbers(
        _ key: RowKey, _ row: [Value], _ image: TableImage, _ view: View
    ) -> [Int] {
        guard let fields = image.names[key].flatMap({ view.rows[$0]?.fields }) else { return [] }
        return schema.merge.entities[key.entity].references.flatMap { reference -> [Int] in
            let target = RowKey(entity: reference.target, reference.columns.map { row[$0] })
            guard image.rows[target] != nil, fields[reference.columns[0]].target == nil else {
                return []
            }
            return reference.columns
        }
    }

    private func toldChanges(after stated: Int64) throws -> [RowKey: Told] {
        var told: [RowKey: Told] = [:]
        for change in try prepared.tail.entries(after: stated).filter(\.isLocal)
            .flatMap(\.changes)
        {
            guard let position = schema.position(of: change.entity.name),
                schema.tables[position].key.count == change.entity.keyCount
            else { continue }
            let key = RowKey(entity: position, change.key.values)
            switch change.kind {
            case .insert: told[key] = Told(kind: .insert, isWhole: true)
            case .delete: told[key] = Told(kind: .delete)
            case .update:
                let names = change.entity.columnNames
                told[key, default: Told()].columns.formUnion(
                    change.mask.positions.lazy.filter { $0 < names.count }.compactMap {
                        self.schema.column(names[$0], of: position)
                    })
            }
        }
        return told
    }

    // MARK: Appending

    private func append(_ missed: Missed, _ log: LogAppender) throws {
        let table = schema.tables[missed.key.entity]
        let catalog = prepared.history.catalog
        guard let entity = catalog.present.first(where: { SQLName.equal($0.name, table.name) })
        else {
            throw SyncError(.internalFault, "\(table.name) is merged and not recorded")
        }
        switch missed.kind {
        case .delete:
            guard let before = missed.before else {
                let bare = try catalog.withoutValues(entity, session.database)
                return try log.append(.delete, bare, missed.key.values)
            }
            let kept = entity.layout.kept.map { position in
                schema.column(entity.columnNames[position], of: missed.key.entity).map {
                    before[$0]
                } ?? .null
            }
            try log.append(.delete, entity, missed.key.values + kept)
        case .update:
            let bare =
                entity.keepsOldValues
                ? try catalog.withoutValues(entity, session.database) : entity
            var mask = ColumnMask()
            let names = Set(missed.columns.map { SQLName.folded(table.columns[$0]) })
            for (position, name) in bare.columnNames.enumerated()
            where names.contains(SQLName.folded(name)) {
                mask.insert(position)
            }
            try log.append(.update, bare, mask: mask, missed.key.values)
        default:
            try log.append(.insert, entity, missed.key.values)
        }
    }
}
