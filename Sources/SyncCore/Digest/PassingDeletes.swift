import SyncStorage
import SyncValues

/// The deletes that a large transaction is in while its rows are read in order, of those whose keys
/// have no other rows (``DeleteCensus``). What they take along is a change of its own: it needs
/// only the name of the object that took it, and that one's change the place of its begin, before
/// all of them.
struct PassingDeletes {
    /// What a delete is besides its row.
    struct Place {
        let seq: Int64
        let cause: NetChange.Cause
    }

    private struct Delete {
        let begin: Int64
        let end: Int64
        let entity: TrackedEntity
        let key: ObjectKey
    }

    private var open: [Delete] = []

    /// Takes the next row.
    ///
    /// - Returns: for the delete of a row that took others along, or was taken: its place and
    ///   cause.
    mutating func take(
        _ record: LogRecord, of entity: TrackedEntity, census: DeleteCensus
    ) -> Place? {
        guard record.kind == .delete else {
            if record.kind == .deleting, let end = census.end(ofPlain: record.seq) {
                open.append(
                    Delete(
                        begin: record.seq, end: end, entity: entity, key: record.key(entity)))
            }
            return nil
        }
        guard let last = open.last else { return nil }
        var seq = record.seq
        if last.end == record.seq {
            seq = last.begin
            open.removeLast()
        }
        guard let outer = open.last,
            entity.cascades.contains(where: {
                SQLName.folded($0.parent) == outer.entity.folded
            })
        else { return seq == record.seq ? nil : Place(seq: seq, cause: .direct) }
        return Place(seq: seq, cause: .cascade(entity: outer.entity.id, key: outer.key))
    }
}
