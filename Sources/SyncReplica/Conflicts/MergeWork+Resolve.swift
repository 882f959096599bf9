import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

extension MergeWork {
    /// The fact that a conflict is about.
    /// - Throws: `invalidArgument` when there is no such conflict.
    func version(ofConflict id: Int64) throws -> VersionID {
        let select = try prepared.statements.statement(
            "SELECT uid, cell, replica, number FROM syncd_conflict WHERE id = ?1")
        select.bind(1, id)
        defer { select.reset() }
        guard try select.step(), let uid = ObjectUID(bytes: select.blob(0) ?? []) else {
            throw SyncError(
                .invalidArgument, "there is no conflict \(id)",
                hint: "List them with: synctool conflicts DB")
        }
        let replica = try prepared.replicas.name(of: select.integer(2))
        return VersionID(
            uid, cell: Int(select.integer(1)), dot: Dot(replica, select.integer(3)))
    }

    /// Ends a conflict in favour of one side.
    /// - Throws: `invalidArgument` when there is no such open conflict; `refused` when a delete
    ///   cannot be repeated because rows still refer to the object.
    func resolve(_ id: VersionID, _ choice: MergeConflict.Choice, author: String?) throws {
        try speak(of: [id.object], author: author, context: "conflict") { recorder, view in
            guard let conflict = view.conflicts[id] else {
                throw SyncError(
                    .invalidArgument, "the conflict is closed",
                    hint: "List the open ones with: synctool conflicts DB")
            }
            if choice == .shown { return recorder.accept(id, view) }
            if id.cell < 0 {
                recorder.delete(id.object, entity: recorder.entity(of: id.object))
            } else if let host = view.shownAs[id.object], let row = view.rows[host] {
                var fields = row.fields
                let columns = recorder.schema.entities[row.entity].cells[id.cell]
                for (column, field) in zip(columns, conflict.value) { fields[column] = field }
                recorder.writeCell(id.cell, fields: fields, to: row)
                recorder.overwrite(id, fields)
                recorder.consolidate(row, fields)
            } else {
                try Self.restore(id, conflict, &recorder)
            }
        }
        if id.cell < 0, choice == .losing, try prepared.objects.object(id.object)?.key != nil {
            throw SyncError(
                .refused, "the object cannot be deleted: other rows refer to it",
                hint: "Delete these first, or keep what is shown")
        }
    }

    /// Brings a hidden object back, whole, with what it stands on.
    private static func restore(
        _ id: VersionID, _ conflict: Conflict, _ recorder: inout FactRecorder
    ) throws {
        guard let record = recorder.state.objects[id.object] else { return }
        let entity = recorder.schema.entities[record.entity]
        var fields = [Field](repeating: .value(.null), count: entity.columns.count)
        for (cell, columns) in entity.cells.enumerated() {
            let versions = record.cells[cell]
            guard !versions.isEmpty else {
                throw SyncError(
                    .refused, "the object is not whole here yet", hint: "Sync again first")
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

extension FactRecorder {
    /// Makes what a row stands on live again.
    fileprivate mutating func reviveTargets(of fields: [Field]) {
        var work = fields.compactMap(\.target)
        var done: Set<ObjectUID> = []
        while let uid = work.popLast() {
            guard done.insert(uid).inserted, let record = state.objects[uid], hasLife(uid),
                !isAlive(uid)
            else { continue }
            revive(uid, entity: record.entity)
            for versions in record.cells { work += versions.flatMap(\.value).compactMap(\.target) }
        }
    }

    /// Puts what is shown in place of a fact that is not, in the register of that fact: so it was
    /// seen, and is no conflict any more.
    mutating func overwrite(_ id: VersionID, _ fields: [Field]) {
        guard let record = state.objects[id.object],
            record.cells[id.cell].contains(where: { $0.dot == id.dot })
        else { return }
        let value = schema.entities[record.entity].cells[id.cell].map { fields[$0] }
        recordCell(
            id.cell, value: value, of: id.object, entity: record.entity,
            incarnation: incarnation(id.object))
    }

    /// Makes what is shown stay: of a hidden object that is its end.
    mutating func accept(_ id: VersionID, _ view: View) {
        let entity = entity(of: id.object)
        if id.cell < 0 {
            revive(id.object, entity: entity)
        } else if let host = view.shownAs[id.object], let row = view.rows[host] {
            if consolidate(row, row.fields) { return }
            if row.sources[id.cell] == nil || row.sources[id.cell]?.object == id.object {
                writeCell(id.cell, fields: row.fields, to: row)
            }
            overwrite(id, row.fields)
        } else if hasLife(id.object) {
            delete(id.object, entity: entity)
        }
    }

    /// Makes a row of several identities one object for good, whose values are those of one member:
    /// else each value of the others would be a conflict for ever. What was written to a member
    /// that had been deleted ends, too.
    /// - Returns: false when it is one object already.
    @discardableResult
    mutating func consolidate(_ row: ShownRow, _ fields: [Field]) -> Bool {
        guard let keeper = row.members.first(where: isAlive) else { return false }
        let others = row.members.filter { $0 != keeper && hasLife($0) }
        guard !others.isEmpty else { return false }
        for (cell, columns) in schema.entities[row.entity].cells.enumerated() {
            recordCell(
                cell, value: columns.map { fields[$0] }, of: keeper, entity: row.entity,
                incarnation: incarnation(keeper))
        }
        for member in row.members where member != keeper { mergeIdentities(keeper, with: member) }
        for member in others { delete(member, entity: row.entity) }
        return true
    }

    func entity(of uid: ObjectUID) -> Int { state.objects[uid]?.entity ?? 0 }
}
