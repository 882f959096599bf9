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
            uid, cell: Int(select.integer(1)), Dot(replica, select.integer(3)))
    }

    /// Ends a conflict in favour of one side.
    /// - Throws: `invalidArgument` when there is no such open conflict; `refused` when a delete
    ///   cannot be repeated because rows still refer to the object.
    func resolve(_ id: VersionID, _ choice: MergeConflict.Choice, author: String?) throws {
        guard let conflict = view.conflicts[id] else {
            throw SyncError(
                .invalidArgument, "the conflict is closed",
                hint: "List the open ones with: synctool conflicts DB")
        }
        try speak(author: author, context: "conflict") { speaker, view in
            if id.cell < 0 {
                try Self.settleDelete(id, choice, &speaker)
            } else if let host = view.hosts[id.object], let row = view.rows[host] {
                var fields = row.fields
                if choice == .losing {
                    let columns = speaker.schema.entities[row.entity].cells[id.cell]
                    for (column, field) in zip(columns, conflict.value) { fields[column] = field }
                }
                // Where an override stands for a fact, what is shown becomes one.
                speaker.write(id.cell, fields, to: row)
                if conflict.reason == .olderIncarnation || id.object != host {
                    speaker.overwrite(id)
                }
            } else {
                try Self.settleHidden(id, conflict, choice, &speaker)
            }
        }
        if id.cell < 0, choice == .losing, view.hosts[id.object] != nil {
            throw SyncError(
                .refused, "the object cannot be deleted: other rows refer to it",
                hint: "Delete these first, or keep what is shown")
        }
    }

    private static func settleDelete(
        _ id: VersionID, _ choice: MergeConflict.Choice, _ speaker: inout Speaker
    ) throws {
        let entity = speaker.base.objects[id.object]?.entity ?? 0
        switch choice {
        case .losing: speaker.delete(id.object, entity: entity)
        case .shown: speaker.revive(id.object, entity: entity)
        }
    }

    private static func settleHidden(
        _ id: VersionID, _ conflict: Conflict, _ choice: MergeConflict.Choice,
        _ speaker: inout Speaker
    ) throws {
        guard let record = speaker.base.objects[id.object] else { return }
        guard choice == .losing else {
            return speaker.delete(id.object, entity: record.entity)
        }
        let entity = speaker.schema.entities[record.entity]
        var fields = [Field](repeating: .value(.null), count: entity.columns.count)
        for (cell, columns) in entity.cells.enumerated() {
            let versions = record.cells[cell]
            guard !versions.isEmpty else {
                throw SyncError(
                    .refused, "the object is not whole here yet", hint: "Sync again first")
            }
            let newest = speaker.base.newest(versions, dot: \.dot, name: \.dot).value
            let value = cell == id.cell ? conflict.value : newest
            for (column, field) in zip(columns, value) { fields[column] = field }
        }
        speaker.create(id.object, entity: record.entity, fields)
        speaker.reviveTargets(of: fields)
    }
}

extension Speaker {
    /// Makes what a row stands on live again.
    fileprivate mutating func reviveTargets(of fields: [Field]) {
        var work = fields.compactMap(\.target)
        var done: Set<ObjectUID> = []
        while let uid = work.popLast() {
            guard done.insert(uid).inserted, let record = base.objects[uid], hasLife(uid),
                !isAlive(uid)
            else { continue }
            revive(uid, entity: record.entity)
            for versions in record.cells { work += versions.flatMap(\.value).compactMap(\.target) }
        }
    }

    /// States a version of another member or incarnation again in its own register, so that it is
    /// no conflict any more: what it said was seen.
    fileprivate mutating func overwrite(_ id: VersionID) {
        guard let record = base.objects[id.object],
            let version = record.cells[id.cell].first(where: { $0.dot == id.dot })
        else { return }
        state(
            .cell(
                id.object, entity: record.entity, cell: id.cell,
                Version(header.dot, incarnation: version.incarnation, value: version.value)))
    }
}
