import SyncValues

/// Whether an object exists, and which of its versions count, from its own facts alone.
extension MergeState {
    /// Rule 1: is the object alive?
    ///
    /// Only facts of its newest incarnation are asked. Nobody deleted it: alive. An insert stands
    /// against a delete that had not seen it. Else the entity's policy decides: under `editWins` it
    /// lives when every delete has some edit that it had not seen.
    package func isAlive(_ record: ObjectRecord) -> Bool {
        let newest = record.incarnation
        let life = record.life.filter { $0.incarnation == newest }
        let deletes = life.filter { $0.kind == .deleted }
        if deletes.isEmpty || life.contains(where: { $0.kind == .created }) { return !life.isEmpty }
        guard schema.entities[record.entity].deletePolicy == .editWins else { return false }
        var edits = life.filter { $0.kind == .revived }.map(\.dot)
        for versions in record.cells {
            edits += versions.filter { $0.incarnation == newest }.map(\.dot)
        }
        return deletes.allSatisfy { delete in
            edits.contains { $0 != delete.dot && !hasSeen(delete.dot, $0) }
        }
    }

    /// The versions of a cell that may be shown: of the newest incarnation, and, when an insert
    /// stands beside a delete that had not seen it, only what that delete had not seen.
    /// - Parameter alive: whether the object, or one that it is aliased with, is alive.
    func candidates(_ record: ObjectRecord, cell: Int, alive: Bool) -> [Version] {
        let newest = record.incarnation
        let versions = record.cells[cell].filter { $0.incarnation == newest }
        let life = record.life.filter { $0.incarnation == newest }
        guard alive, life.contains(where: { $0.kind == .created }) else { return versions }
        let deletes = life.filter { $0.kind == .deleted }
        let unseen = versions.filter { version in
            !deletes.contains { hasSeen($0.dot, version.dot) }
        }
        return unseen.isEmpty ? versions : unseen
    }

    /// Whether a delete that had seen the version ended it. One transaction may delete an
    /// incarnation and write the next, under one dot: so the incarnation is asked too.
    package func isEnded(_ version: Version, in record: ObjectRecord) -> Bool {
        record.life.contains { life in
            life.kind == .deleted && life.incarnation >= version.incarnation
                && hasSeen(life.dot, version.dot)
        }
    }
}
