/// Existence: whether an object is alive, and which of its versions may be shown, by its own facts
/// alone. References, keys and other objects are considered later, by the view.
extension MergeState {
    /// Rule 1: is the object alive?
    ///
    /// Only facts of its newest incarnation count. Without a delete it is alive. An insert wins
    /// against a delete that had not seen it. Else the entity's policy decides: under `editWins` it
    /// lives when every delete has some edit that it had not seen.
    package func isAlive(_ record: ObjectRecord) -> Bool {
        let newest = record.incarnation
        let life = record.life.filter { $0.incarnation == newest }
        let deletes = life.filter { $0.kind == .deleted }
        if deletes.isEmpty || life.contains(where: { $0.kind == .created }) { return !life.isEmpty }
        guard schema.entities[record.entity].deletePolicy == .editWins else { return false }
        var edits = life.filter { $0.kind == .revived }.map(\.dot)
        // A claim of a number is no edit: renumbering an object does not keep it alive.
        let number = schema.entities[record.entity].numberCell
        for (cell, versions) in record.cells.enumerated() where cell != number {
            edits += versions.filter { $0.incarnation == newest }.map(\.dot)
        }
        return deletes.allSatisfy { delete in
            edits.contains { $0 != delete.dot && !isSeen($0, by: delete.dot) }
        }
    }

    /// The versions of a cell that may be shown: of the newest incarnation, and, when there is an
    /// insert and a delete that had not seen it, only what that delete had not seen.
    /// - Parameter alive: whether the object, or one that it is aliased with, is alive.
    func candidates(_ record: ObjectRecord, cell: Int, alive: Bool) -> [Version] {
        let newest = record.incarnation
        let versions = record.cells[cell].filter { $0.incarnation == newest }
        let life = record.life.filter { $0.incarnation == newest }
        guard alive, life.contains(where: { $0.kind == .created }) else { return versions }
        let deletes = life.filter { $0.kind == .deleted }
        let unseen = versions.filter { version in
            !deletes.contains { isSeen(version.dot, by: $0.dot) }
        }
        if unseen.isEmpty { return versions }
        guard versions.contains(where: \.isPartial) else { return unseen }
        return unseen + versions.compactMap { unseen.contains($0) ? nil : $0.leavingOut(unseen) }
    }

    /// Whether a version of a row that was deleted may be the default of a column that was added
    /// later. Which of the row's remaining transactions the default is attributed to depends on the
    /// moment of the migration, and so on the replica; it wrote another cell, too. Nobody wrote the
    /// default, and where someone did, the other cell tells it.
    func isAttributedDefault(_ version: Version, cell: Int, of record: ObjectRecord) -> Bool {
        if version.isUnwritten { return true }
        guard isDefault(version, of: cell, in: record) else { return false }
        let isInserted = record.life.contains {
            $0.kind == .created && $0.incarnation == version.incarnation
        }
        return !isInserted
            && record.cells.indices.contains { other in
                other != cell
                    && record.cells[other].contains {
                        $0.dot == version.dot && $0.incarnation == version.incarnation
                    }
            }
    }

    private func isDefault(_ version: Version, of cell: Int, in record: ObjectRecord) -> Bool {
        let entity = schema.entities[record.entity]
        return zip(entity.cells[cell], version.value).allSatisfy { column, field in
            field == .unstated || field == .value(entity.columns[column].defaultValue)
        }
    }

    /// Whether a version may be the default of an added column that is attributed to an insert of
    /// which nothing else is left: a replica without the column has seen the insert, and kept the
    /// row or stated it again. A replica that adds the column after that has no such version. Where
    /// someone wrote the default alone, one who saw it kept the row and said nothing of it.
    func isDefaultOfFormerInsert(_ version: Version, cell: Int, of record: ObjectRecord) -> Bool {
        let isOverwritten = record.life.contains { life in
            life.kind != .deleted && life.incarnation >= version.incarnation
                && isSeen(version.dot, by: life.dot)
        }
        let isInserted = record.life.contains {
            $0.kind == .created && $0.dot == version.dot && $0.incarnation == version.incarnation
        }
        return isOverwritten && !isInserted
            && record.cells.indices.allSatisfy { other in
                record.cells[other].allSatisfy {
                    $0.dot != version.dot || $0.incarnation != version.incarnation
                        || isDefault($0, of: other, in: record)
                }
            }
    }

    /// Whether a version may be the default of a column that was added after its row was deleted,
    /// or after its insert was overwritten: such a one is in no conflict.
    package func isAttributedDefault(_ id: VersionID) -> Bool {
        guard let record = objects[id.object], record.cells.indices.contains(id.cell),
            let version = record.cells[id.cell].first(where: { $0.dot == id.dot })
        else { return false }
        return isAttributedDefault(version, cell: id.cell, of: record)
            || isDefaultOfFormerInsert(version, cell: id.cell, of: record)
    }

    /// Whether a delete that had seen the version ended it. One transaction may delete an
    /// incarnation and write the next, under one dot: so the incarnation is compared, too.
    package func isEnded(_ version: Version, in record: ObjectRecord) -> Bool {
        record.life.contains { life in
            life.kind == .deleted && life.incarnation >= version.incarnation
                && isSeen(version.dot, by: life.dot)
        }
    }
}
