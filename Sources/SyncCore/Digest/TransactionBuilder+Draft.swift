import SyncValues

extension TransactionBuilder {
    /// What happened to one key so far.
    struct Draft {
        package enum State { case inserted, updated, deleted, replacing, nothing }

        let entity: TrackedEntity
        let key: ObjectKey
        /// The seq of the first record.
        var seq: Int64
        /// The seq of its last event, where commits ran together.
        var last: Int64 = 0
        /// When its parts were written, where commits ran together.
        var written = WrittenColumns()
        var state: State
        /// The seq of the record that brought the object to its state.
        var end: Int64
        var mask = ColumnMask()
        /// Of a delete, by position in the layout's `kept`: the values that the delete met.
        var kept: [Value] = []
        /// The values that the first REPLACE of the object met.
        var keptAtReplace: [Value]?
        /// Of an update with `undo`, by column; NULL where the column did not change. Stays when
        /// the object is deleted or replaced afterwards: see ``keptBefore``.
        var old: [Value] = []
        var cause = NetChange.Cause.direct
        /// The row came to this key by a change of its key: the draft of the delete of the key that
        /// it had before the transaction.
        var origin: Int?
        /// Of a delete that took others along: the seq of the record that it begins with.
        var begun: Int64?
        /// Of a cascade: the draft of the delete that took it along.
        var parent: Int?

        /// Notes an event, after it was taken.
        /// - Parameter julianDay: of the event, not before that of an earlier one.
        mutating func note(_ record: LogRecord, at julianDay: Double) {
            last = record.seq
            switch record.kind {
            case .marker, .continued, .deleting, .renumber: return
            case .delete, .replace:
                if state == .deleted { written.begin(at: julianDay) }
            case .update:
                written.write(
                    record.mask(entity), at: julianDay, isInserted: state == .inserted)
            case .insert where state == .updated || record.seq > seq:
                // A REPLACE of the row, or the insert after an update by a trigger.
                written.write(
                    entity.nonKeyMask, at: julianDay, isInserted: state == .inserted)
            case .insert: written.begin(at: julianDay)
            }
        }

        init(entity: TrackedEntity, key: ObjectKey, seq: Int64, state: State, end: Int64) {
            self.entity = entity
            self.key = key
            self.seq = seq
            self.state = state
            self.end = end
        }

        /// The kept values before the transaction, as far as the log has them: values that it wrote
        /// before it deleted the object were never visible to others.
        var keptBefore: [Value] {
            let kept = keptAtReplace ?? kept
            guard !old.isEmpty, kept.count == entity.layout.kept.count else { return kept }
            return zip(entity.layout.kept, kept).map { position, value in
                mask.contains(position) && position < old.count ? old[position] : value
            }
        }
    }
}
