import SyncValues

/// Turns the log records of one transaction into its net changes.
///
/// One object has one change, but for a key that was deleted and inserted again, which makes two.
/// The net of several events, from left to right:
///
/// | before | insert | update | delete | REPLACE of the same key | REPLACE by another key |
/// |---|---|---|---|---|---|
/// | nothing | insert | update | delete | pending replace | delete |
/// | insert | insert | insert | nothing | insert | nothing |
/// | update | insert (a) | update | delete | pending replace | delete |
/// | delete | delete + insert | delete (b) | delete (c) | pending replace (c) | delete (c) |
/// | pending replace | update of everything | – | delete | pending replace | delete |
///
/// Where commits ran together, insert and delete stay both (`keepsVanished`).
///
/// (a) An AFTER trigger of the user that updates the row it was fired by runs before ours.
/// (b) Cannot happen; the delete stays. (c) With recursive_triggers the victim of a REPLACE is
/// logged twice.
struct TransactionBuilder {
    /// What happened to one key so far.
    struct Draft {
        package enum State { case inserted, updated, deleted, replacing, nothing }

        let entity: TrackedEntity
        let key: ObjectKey
        var seq: Int64
        /// The seq of its last event, where commits ran together.
        var last: Int64 = 0
        var state: State
        var mask = ColumnMask()
        /// Of a delete, by position in the layout's `kept`: the values that the delete met.
        var kept: [Value] = []
        /// Of an update with `undo`, by column; NULL where the column did not change. Stays when
        /// the object is deleted or replaced afterwards: see ``keptBefore``.
        var old: [Value] = []
        /// Julian day of the last statement: equal within one statement.
        var time: Double?
        var cause = NetChange.Cause.direct

        /// The kept values before the transaction, where `undo` has them: values that it wrote
        /// before it deleted the object were never visible to others.
        var keptBefore: [Value] {
            guard !old.isEmpty, kept.count == entity.layout.kept.count else { return kept }
            return zip(entity.layout.kept, kept).map { position, value in
                mask.contains(position) && position < old.count ? old[position] : value
            }
        }
    }

    /// The marker at the beginning, where the writer set one.
    private(set) var who: LogRecord.Marker?
    /// What it holds was found by comparing, not recorded as it happened.
    private(set) var isRecovered = false
    /// Julian day of the last statement; nil when no record had one.
    private(set) var time: Double?
    /// An object that was inserted and deleted is reported as both. For commits that ran together:
    /// it may have been visible in between, and its values must not be lost.
    let keepsVanished: Bool
    /// The drafts are not wanted: only what the markers and the times say.
    private(set) var isWithoutDrafts = false
    private var drafts: [Draft] = []
    private var current: [EntityKey: Int] = [:]
    /// New key → old key, between the record that says so and the insert of the new key.
    private var renumberings: [EntityKey: ObjectKey] = [:]

    init(keepsVanished: Bool = false) { self.keepsVanished = keepsVanished }

    /// Takes the next record of the transaction.
    mutating func append(_ record: LogRecord) {
        if let recordTime = record.time { time = recordTime }
        guard let entity = record.entity else { return take(record.marker) }
        if isWithoutDrafts { return }
        switch record.kind {
        case .marker, .continued: break
        case .insert: insert(entity, from: record)
        case .update: update(entity, from: record)
        case .delete: end(entity, from: record, cause: .direct)
        case .replace: replace(entity, from: record)
        case .renumber: renumber(entity, from: record)
        }
        if keepsVanished, let index = current[EntityKey(entity: entity.id, key: record.key(entity))]
        {
            drafts[index].last = record.seq
        }
    }

    /// The number of objects that were changed so far.
    var draftCount: Int { drafts.count }

    /// Releases what was built, and builds no more: the transaction is too large.
    mutating func dropDrafts() {
        isWithoutDrafts = true
        drafts = []
        current = [:]
        renumberings = [:]
    }

    private mutating func take(_ marker: LogRecord.Marker) {
        if marker.isRecovery {
            isRecovered = true
        } else if !marker.isEnd, who == nil {
            who = marker
        }
    }

    private mutating func draft(
        of entity: TrackedEntity, record: LogRecord, key: ObjectKey, state: Draft.State
    ) -> Int {
        current[EntityKey(entity: entity.id, key: key)] = drafts.count
        drafts.append(
            Draft(entity: entity, key: key, seq: record.seq, state: state, time: record.time))
        return drafts.count - 1
    }

    private func index(of entity: TrackedEntity, key: ObjectKey) -> Int? {
        guard let index = current[EntityKey(entity: entity.id, key: key)],
            drafts[index].state != .nothing
        else { return nil }
        return index
    }

    private mutating func insert(_ entity: TrackedEntity, from record: LogRecord) {
        let key = record.key(entity)
        guard let index = index(of: entity, key: key) else {
            markInserted(draft(of: entity, record: record, key: key, state: .inserted))
            return
        }
        switch drafts[index].state {
        case .inserted, .nothing: break
        case .updated:
            drafts[index].state = .inserted
            drafts[index].mask = ColumnMask()
        case .deleted:
            markInserted(draft(of: entity, record: record, key: key, state: .inserted))
        case .replacing:
            drafts[index].state = .updated
            drafts[index].old = entity.oldValues(fromKept: drafts[index].keptBefore)
            drafts[index].mask = entity.nonKeyMask
            drafts[index].cause = .replace
            drafts[index].kept = []
        }
    }

    private mutating func markInserted(_ index: Int) {
        let name = EntityKey(entity: drafts[index].entity.id, key: drafts[index].key)
        if let old = renumberings.removeValue(forKey: name) {
            drafts[index].cause = .renumbered(old)
        }
    }

    private mutating func update(_ entity: TrackedEntity, from record: LogRecord) {
        let key = record.key(entity)
        let mask = record.mask(entity)
        let old = entity.keepsOldValues ? Array(record.values.suffix(entity.columnCount)) : []
        guard let index = index(of: entity, key: key) else {
            let index = draft(of: entity, record: record, key: key, state: .updated)
            drafts[index].mask = mask
            drafts[index].old = old
            return
        }
        guard drafts[index].state == .updated else { return }
        // The first old value of a column is the one from before the transaction.
        for position in mask.positions
        where position < old.count && !drafts[index].mask.contains(position) {
            drafts[index].old[position] = old[position]
        }
        drafts[index].mask.formUnion(mask)
    }

    /// A delete, or a REPLACE that wrote another key.
    private mutating func end(
        _ entity: TrackedEntity, from record: LogRecord, cause: NetChange.Cause
    ) {
        let key = record.key(entity)
        let known = index(of: entity, key: key)
        guard let index = known, !(keepsVanished && drafts[index].state == .inserted) else {
            let index = draft(of: entity, record: record, key: key, state: .deleted)
            drafts[index].kept = entity.keptValues(in: record.values)
            drafts[index].cause = cause
            return
        }
        switch drafts[index].state {
        case .deleted, .nothing:
            if cause == .replace { drafts[index].cause = cause }
        case .inserted:
            drafts[index].state = .nothing
            reviveDelete(of: entity, key: key, before: index)
        case .updated, .replacing:
            drafts[index].state = .deleted
            drafts[index].time = record.time
            drafts[index].kept = entity.keptValues(in: record.values)
            drafts[index].cause = cause
        }
    }

    /// Deleted, inserted, deleted: the first delete is what remains.
    private mutating func reviveDelete(of entity: TrackedEntity, key: ObjectKey, before end: Int) {
        let earlier = drafts[..<end].lastIndex {
            $0.entity.id == entity.id && $0.key == key && $0.state == .deleted
        }
        current[EntityKey(entity: entity.id, key: key)] = earlier
    }

    private mutating func replace(_ entity: TrackedEntity, from record: LogRecord) {
        guard record.m == 1 else { return end(entity, from: record, cause: .replace) }
        let key = record.key(entity)
        guard let index = index(of: entity, key: key) else {
            let index = draft(of: entity, record: record, key: key, state: .replacing)
            drafts[index].kept = entity.keptValues(in: record.values)
            return
        }
        switch drafts[index].state {
        case .inserted, .replacing, .nothing: break
        case .deleted: drafts[index].state = .replacing
        case .updated:
            drafts[index].state = .replacing
            drafts[index].kept = entity.keptValues(in: record.values)
        }
    }

    /// The record is between the delete of the old key and the insert of the new one.
    private mutating func renumber(_ entity: TrackedEntity, from record: LogRecord) {
        let old = ObjectKey(Array(record.values.prefix(entity.keyCount)))
        let new = ObjectKey(Array(record.values.suffix(entity.keyCount)))
        if let index = index(of: entity, key: old), drafts[index].state == .deleted {
            drafts[index].cause = .renumbered(new)
        }
        renumberings[EntityKey(entity: entity.id, key: new)] = old
    }

    /// Ends the transaction: the drafts that changed something, cascades after their parents, seqs
    /// ascending.
    ///
    /// - Complexity: O(records)
    func finish() -> [NetChange] {
        var result = drafts.filter { $0.state != .nothing }
        // A REPLACE without its insert: only a log that was edited by hand has it.
        for index in result.indices where result[index].state == .replacing {
            result[index].state = .deleted
        }
        return CascadeOrder.arrange(result).map(Self.netChange)
    }

    private static func netChange(_ draft: Draft) -> NetChange {
        var change = NetChange(
            seq: draft.seq, entity: draft.entity, key: draft.key,
            kind: draft.state == .inserted
                ? .insert : draft.state == .updated ? .update : .delete)
        change.cause = draft.cause
        change.last = max(draft.seq, draft.last)
        if draft.state == .updated {
            change.mask = draft.mask
            if !draft.old.isEmpty { change.old = draft.mask.positions.map { draft.old[$0] } }
        } else {
            change.kept = draft.keptBefore
        }
        return change
    }
}
