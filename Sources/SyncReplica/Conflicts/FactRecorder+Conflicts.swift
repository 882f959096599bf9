import SyncMerge

extension FactRecorder {
    /// Revives the objects that a row refers to, and those that they refer to.
    /// - Complexity: O(revived objects)
    mutating func reviveTargets(of fields: [Field]) {
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

    /// Writes the shown value over a fact that is not shown, in the register of that fact: the fact
    /// was seen then, and is no conflict any more.
    mutating func overwrite(_ id: VersionID, with fields: [Field]) {
        guard let record = state.objects[id.object],
            record.cells[id.cell].contains(where: { $0.dot == id.dot })
        else { return }
        let value = schema.entities[record.entity].cells[id.cell].map { fields[$0] }
        recordCell(
            id.cell, value: value, of: id.object, entity: record.entity,
            incarnation: incarnation(id.object))
    }

    /// Records what is shown as the decision; a hidden object is deleted.
    /// - Parameter isWhole: ``ReplicaStorage/isWhole()``. Then an object without a life fact was
    ///   deleted, and the delete was collected before the edit came that did not know of it.
    mutating func accept(_ id: VersionID, in view: View, isWhole: Bool) {
        let entity = entity(of: id.object)
        if id.cell < 0 {
            revive(id.object, entity: entity)
        } else if let host = view.shownAs[id.object], let row = view.rows[host] {
            if consolidate(row, with: row.fields) { return }
            if row.sources[id.cell] == nil || row.sources[id.cell]?.object == id.object {
                writeCell(id.cell, fields: row.fields, to: row)
            }
            overwrite(id, with: row.fields)
        } else if hasLife(id.object) {
            delete(id.object, entity: entity)
        } else if isWhole {
            deleteUnborn(id.object)
        }
    }

    /// Makes a row of several objects one object permanently, with the values of one member:
    /// otherwise each value of the other members would stay a conflict. Writes to a deleted member
    /// end, too.
    /// - Returns: false when it is one object already.
    @discardableResult
    mutating func consolidate(_ row: ShownRow, with fields: [Field]) -> Bool {
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

    /// The entity of an object of the state.
    func entity(of uid: ObjectUID) -> Int { state.objects[uid]?.entity ?? 0 }
}
