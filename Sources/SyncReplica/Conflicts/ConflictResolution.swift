import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

/// Ends one conflict, as a person decided.
///
/// Invariants
/// - After it the fact is overwritten or shown, so that the conflict is closed on every replica
///   that merges the transaction.
/// - The tables show what was chosen. Where they cannot, nothing is changed and the error says why,
///   and what to do instead (``ConflictObstacle``).
struct ConflictResolution {
    private let transaction: MergeTransaction
    private let storage: ReplicaStorage

    init(_ transaction: MergeTransaction) {
        self.transaction = transaction
        storage = transaction.storage
    }

    /// Ends a conflict.
    /// - Parameters:
    ///   - id: ``ConflictRecord/id``.
    ///   - author: the author of the decision, for history.
    /// - Returns: what was done to the rows.
    /// - Throws: `unknownObject` when there is no such conflict; `refused` when it is not open, or
    ///   when the tables cannot show what was chosen; `invalidArgument` for values that it does not
    ///   have; SQLite errors.
    /// - Complexity: O(what is unresolved)
    func resolve(
        _ id: Int64, keeping choice: ConflictRecord.Choice, author: String?
    ) throws -> ConflictOutcome {
        guard let version = try storage.conflicts.version(ofConflict: id) else {
            throw SyncError(
                .unknownObject, "there is no conflict \(id)",
                hint: "List them with: synctool conflicts DB")
        }
        let open = try storage.conflicts.open(of: version.object)
        let isWhole = try storage.isWhole()
        var wanted: [Field]?
        var isEnding = false
        let recording = AuthoredRecording(transaction, author: author, context: "conflict")
        let shown = try recording.record(about: [version.object]) { recorder, view in
            guard let conflict = view.conflicts[version] else {
                throw try notOpen(id)
            }
            switch choice {
            case .shown:
                isEnding =
                    version.cell >= 0 && view.shownAs[version.object] == nil
                    && recorder.isAlive(version.object)
                recorder.accept(version, in: view, isWhole: isWhole)
            case .losing:
                wanted = conflict.value
                try requireCells(
                    of: version, in: view, state: recorder.state, isWhole: isWhole, conflict: id)
                try Self.restore(version, to: conflict.value, in: view, with: &recorder)
            case .values(let values):
                let value = try chosen(
                    values, of: version, instead: conflict,
                    entity: recorder.entity(of: version.object))
                wanted = value
                try requireCells(
                    of: version, in: view, state: recorder.state, isWhole: isWhole, conflict: id)
                try Self.restore(version, to: value, in: view, with: &recorder)
            }
        }
        let obstacle = ConflictObstacle(
            storage: storage, view: shown.view, state: shown.state, conflict: id,
            open: open)
        try require(version, wanted: wanted, in: shown, or: obstacle)
        return ConflictOutcome(
            shown.differences, schema: storage.schema,
            deletedObject: isEnding ? try obstacle.path(of: version.object) : nil)
    }

    /// Why a conflict that the view does not have cannot be resolved.
    private func notOpen(_ id: Int64) throws -> SyncError {
        let record = try ConflictReader(storage).conflicts(open: true).first { $0.id == id }
        guard let record, record.presence == .noTable else {
            return SyncError(
                .refused, "conflict \(id) is already resolved",
                hint: "List the open ones with: synctool conflicts DB")
        }
        return SyncError(
            .refused, "conflict \(id) is about the table \(record.entity), which is not here",
            hint: "Resolve it on a replica that has the table; or create the table again, run: "
                + "synctool track DB, then resolve it")
    }

    /// Checks that the tables show what was chosen, and that the conflict is closed.
    private func require(
        _ version: VersionID, wanted: [Field]?, in shown: RegionUpdate.Result,
        or obstacle: ConflictObstacle
    ) throws {
        let (view, state) = (shown.view, shown.state)
        if let wanted {
            if version.cell < 0 {
                guard view.shownAs[version.object] != nil else { return }
                throw try obstacle.stillReferred(version.object)
            }
            guard
                !view.shows(wanted, cell: version.cell, of: version.object, schema: state.schema)
            else { return }
            let row = Self.fields(of: version.object, in: state)
            throw try obstacle.error(
                for: version.object,
                with: Self.setting(wanted, of: version, in: row, schema: state))
        }
        guard view.conflicts[version] != nil else { return }
        throw SyncError(
            .refused, "the conflict stays open: what is shown follows from other conflicts",
            hint: "Resolve these first: synctool conflicts DB")
    }

    /// The newest fields of an object, as far as they are here.
    private static func fields(of uid: ObjectUID, in state: MergeState) -> [Field] {
        guard let record = state.objects[uid] else { return [] }
        let entity = state.schema.entities[record.entity]
        var fields = [Field](repeating: .value(.null), count: entity.columns.count)
        for (cell, columns) in entity.cells.enumerated() {
            let versions = record.cells[cell]
            for (place, column) in columns.enumerated() {
                let stating = versions.filter { $0.value[place] != .unstated }
                if stating.isEmpty { continue }
                let newest = state.newest(of: stating, dot: \.dot, name: \.dot)
                fields[column] = state.literal(newest)[place]
            }
        }
        return fields
    }

    private static func setting(
        _ value: [Field], of version: VersionID, in row: [Field], schema state: MergeState
    ) -> [Field] {
        guard let record = state.objects[version.object] else { return row }
        var row = row
        let columns = state.schema.entities[record.entity].cells[version.cell]
        for (column, field) in zip(columns, value) where field != .unstated { row[column] = field }
        return row
    }

    /// An object that is to be shown needs a value of each of its columns.
    private func requireCells(
        of id: VersionID, in view: View, state: MergeState, isWhole: Bool, conflict: Int64
    ) throws {
        guard id.cell >= 0, view.shownAs[id.object] == nil,
            state.objects[id.object]?.isWhole == false
        else { return }
        guard isWhole else {
            throw SyncError(
                .refused, "the object is not complete here yet", hint: "Run first: synctool sync DB"
            )
        }
        throw SyncError(
            .refused,
            "the row was deleted, and its other values with it, before the edit came here",
            hint: "To leave it deleted: synctool conflicts resolve DB \(conflict) --keep shown. To "
                + "have the row again, insert it with SQL")
    }

    // MARK: Facts

    /// Records a value in place of what is shown; for a delete, the delete again.
    private static func restore(
        _ id: VersionID, to value: [Field], in view: View, with recorder: inout FactRecorder
    ) throws {
        if id.cell < 0 {
            recorder.delete(id.object, entity: recorder.entity(of: id.object))
        } else if let host = view.shownAs[id.object], let row = view.rows[host] {
            var fields = row.fields
            let columns = recorder.schema.entities[row.entity].cells[id.cell]
            for (column, field) in zip(columns, value) where field != .unstated {
                fields[column] = field
            }
            recorder.writeCell(id.cell, fields: fields, to: row)
            recorder.overwrite(id, with: fields)
            recorder.consolidate(row, with: fields)
            // What the value refers to is shown again with it.
            recorder.reviveTargets(of: value)
            // Where the row is shown with another value because a row with an older claim has this
            // one, that row steps back: the later claim would lose again.
            guard row.sources[id.cell] == nil else { return }
            let rivals = view.rivals(
                of: host, with: fields, cell: id.cell, schema: recorder.schema)
            for rival in rivals {
                recorder.writeCell(id.cell, fields: rival.fields, to: rival.row)
            }
        } else {
            restoreObject(of: id, to: value, with: &recorder)
        }
    }

    /// Creates a hidden object again, with all of its cells, and revives what it refers to. One
    /// that is alive gets the value alone.
    private static func restoreObject(
        of id: VersionID, to value: [Field], with recorder: inout FactRecorder
    ) {
        guard let record = recorder.state.objects[id.object] else { return }
        let entity = recorder.schema.entities[record.entity]
        let before = fields(of: id.object, in: recorder.state)
        let wanted = setting(value, of: id, in: before, schema: recorder.state)
        if recorder.isAlive(id.object) {
            let columns = entity.cells[id.cell]
            if columns.contains(where: { wanted[$0] != before[$0] }) {
                recorder.recordCell(
                    id.cell, value: columns.map { wanted[$0] }, of: id.object,
                    entity: record.entity, incarnation: recorder.incarnation(id.object))
            }
        } else {
            recorder.create(id.object, entity: record.entity, fields: wanted)
        }
        recorder.reviveTargets(of: wanted)
    }

    // MARK: Values

    /// The value of the conflict's cell with some columns as a person wants them.
    private func chosen(
        _ values: [String: String?], of version: VersionID, instead conflict: Conflict, entity: Int
    ) throws -> [Field] {
        let described = storage.schema.merge.entities[entity]
        let columns = version.cell < 0 ? [] : described.cells[version.cell]
        var value = conflict.value
        for (name, text) in values.sorted(by: { $0.key < $1.key }) {
            let column = storage.schema.column(name, of: entity)
            guard let column, let place = columns.firstIndex(of: column) else {
                let names = columns.map { described.columns[$0].name }.joined(separator: ", ")
                guard storage.schema.column(name, of: entity) != nil else {
                    throw SyncError.unknownProperty(
                        name, of: described.name, among: described.columns.map(\.name))
                }
                throw SyncError(
                    .invalidArgument,
                    "the conflict is not about the column '\(name.printable(countMax: 80))'",
                    hint: columns.isEmpty
                        ? "It is about a delete: use --keep shown or --keep losing"
                        : "It is about: \(names)")
            }
            guard !described.references.contains(where: { $0.columns.contains(column) }) else {
                throw SyncError(
                    .invalidArgument, "a reference cannot be chosen by its value",
                    hint: "Resolve the conflict first, then change \(name) with SQL")
            }
            value[place] = .value(
                try converted(text, for: described.columns[column].name, of: entity))
        }
        return value
    }

    /// A value as SQLite stores it in a column.
    private func converted(_ text: String?, for column: String, of entity: Int) throws -> Value {
        guard let text else { return .null }
        let select = try Statement(
            "SELECT type FROM pragma_table_info(?1) WHERE name = ?2",
            on: storage.connection)
        select.bind(.text(storage.schema.tables[entity].name), at: 1)
        select.bind(.text(column), at: 2)
        defer { select.reset() }
        let type = try select.step() ? select.text(0) ?? "" : ""
        switch Affinity(declaredType: type, strict: false) {
        case .text, .blob: return .text(text)
        case .integer, .numeric, .real:
            return Int64(text).map(Value.integer) ?? Double(text).map(Value.real) ?? .text(text)
        }
    }
}
