import SyncMerge
import SyncValues

/// Ends one conflict, as a person decided.
///
/// Invariant: after it the fact is overwritten or shown, so that the conflict is closed on every
/// replica that merges the transaction.
struct ConflictResolution {
    private let transaction: MergeTransaction
    private let storage: ReplicaStorage

    init(_ transaction: MergeTransaction) {
        self.transaction = transaction
        storage = transaction.storage
    }

    /// Ends a conflict in favour of one side.
    /// - Parameters:
    ///   - id: ``ConflictRecord/id``.
    ///   - author: the author of the decision, for history.
    /// - Throws: `unknownObject` when there is no such open conflict; `refused` when a delete
    ///   cannot be repeated because rows still refer to the object; SQLite errors.
    /// - Complexity: O(what is unresolved)
    func resolve(_ id: Int64, keeping choice: ConflictRecord.Choice, author: String?) throws {
        guard let version = try storage.conflicts.version(ofConflict: id) else {
            throw SyncError(
                .unknownObject, "there is no conflict \(id)",
                hint: "List them with: synctool conflicts DB")
        }
        let recording = AuthoredRecording(transaction, author: author, context: "conflict")
        try recording.record(about: [version.object]) { recorder, view in
            guard let conflict = view.conflicts[version] else {
                throw SyncError(
                    .invalidArgument, "conflict \(id) is already resolved",
                    hint: "List the open ones with: synctool conflicts DB")
            }
            switch choice {
            case .shown: recorder.accept(version, in: view)
            case .losing: try Self.restore(version, of: conflict, in: view, with: &recorder)
            }
        }
        if version.cell < 0, choice == .losing,
            try storage.objects.object(version.object)?.key != nil
        {
            throw SyncError(
                .refused, "the object cannot be deleted: other rows refer to it",
                hint: "Delete these first, or keep what is shown")
        }
    }

    /// Records the fact that is not shown again.
    private static func restore(
        _ id: VersionID, of conflict: Conflict, in view: View, with recorder: inout FactRecorder
    ) throws {
        if id.cell < 0 {
            recorder.delete(id.object, entity: recorder.entity(of: id.object))
        } else if let host = view.shownAs[id.object], let row = view.rows[host] {
            var fields = row.fields
            let columns = recorder.schema.entities[row.entity].cells[id.cell]
            for (column, field) in zip(columns, conflict.value) { fields[column] = field }
            recorder.writeCell(id.cell, fields: fields, to: row)
            recorder.overwrite(id, with: fields)
            recorder.consolidate(row, with: fields)
            // Where the row is shown with another value because a row with an older claim has this
            // one, that row steps back: the later claim would lose again.
            guard row.sources[id.cell] == nil else { return }
            let rivals = view.rivals(
                of: host, with: fields, cell: id.cell, schema: recorder.schema)
            for rival in rivals {
                recorder.writeCell(id.cell, fields: rival.fields, to: rival.row)
            }
        } else {
            try restoreObject(of: id, conflict: conflict, with: &recorder)
        }
    }

    /// Creates a hidden object again, with all of its cells, and revives what it refers to.
    private static func restoreObject(
        of id: VersionID, conflict: Conflict, with recorder: inout FactRecorder
    ) throws {
        guard let record = recorder.state.objects[id.object] else { return }
        let entity = recorder.schema.entities[record.entity]
        var fields = [Field](repeating: .value(.null), count: entity.columns.count)
        for (cell, columns) in entity.cells.enumerated() {
            let versions = record.cells[cell]
            guard !versions.isEmpty else {
                throw SyncError(
                    .refused, "the object is not complete here yet",
                    hint: "Run first: synctool sync DB")
            }
            let newest = recorder.state.newest(of: versions, dot: \.dot, name: \.dot)
            let value =
                cell == id.cell
                ? conflict.value : recorder.state.literal(newest)
            for (column, field) in zip(columns, value) { fields[column] = field }
        }
        recorder.create(id.object, entity: record.entity, fields: fields)
        recorder.reviveTargets(of: fields)
    }
}
