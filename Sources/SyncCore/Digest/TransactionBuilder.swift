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
/// After "nothing" that an insert and a delete left, another delete or REPLACE of the key is
/// nothing, too (c).
///
/// Where commits ran together, insert and delete stay both (`keepsVanished`), and a tombstone has
/// the values that the delete met: they were committed.
///
/// (a) An AFTER trigger of the user that updates the row it was fired by runs before ours.
/// (b) Cannot happen; the delete stays. (c) With recursive_triggers the victim of a REPLACE is
/// logged twice.
struct TransactionBuilder {
    /// The marker at the beginning, where the writer set one.
    private(set) var who: LogRecord.Marker?
    /// What it holds was found by comparing, not recorded as it happened.
    private(set) var isRecovered = false
    /// Julian day of the last statement; nil when no record had one.
    private(set) var time: Double?
    /// The latest of all times so far: a clock that goes back does not reverse the order of writes.
    private var clock = -Double.infinity
    /// An object that was inserted and deleted is reported as both. For commits that ran together:
    /// it may have been visible in between, and its values must not be lost.
    let keepsVanished: Bool
    /// The drafts are not wanted: only what the markers and the times say.
    private(set) var isWithoutDrafts = false
    private var drafts: [Draft] = []
    private var current: [EntityKey: Int] = [:]
    /// The drafts of deletes whose keys were inserted again.
    private var deletedBefore: [EntityKey: Int] = [:]
    /// New key → the draft of the row's delete, between the record of a key change and the insert.
    private var origins: [EntityKey: Int] = [:]
    /// What the last delete ended: a key, and the draft of the row that had it.
    private var ended: (name: EntityKey, origin: Int?)?
    private var openDeletes = OpenDeletes()

    init(keepsVanished: Bool = false) { self.keepsVanished = keepsVanished }

    /// Takes the next record of the transaction.
    mutating func append(_ record: LogRecord) {
        if let recordTime = record.time {
            time = recordTime
            clock = max(clock, recordTime)
        }
        guard let entity = record.entity else { return take(record.marker) }
        if isWithoutDrafts { return }
        switch record.kind {
        case .marker, .continued: break
        case .insert: insert(entity, from: record)
        case .update: update(entity, from: record)
        case .deleting: openDeletes.begin(entity, at: record)
        case .delete: delete(entity, from: record)
        case .replace: replace(entity, from: record)
        case .renumber: renumber(entity, from: record)
        }
        if keepsVanished, let index = current[EntityKey(entity: entity.id, key: record.key(entity))]
        {
            drafts[index].note(record, at: clock)
        }
    }

    /// The number of objects that were changed so far.
    var draftCount: Int { drafts.count }

    /// Releases what was built, and builds no more: the transaction is too large.
    mutating func dropDrafts() {
        isWithoutDrafts = true
        drafts = []
        current = [:]
        deletedBefore = [:]
        origins = [:]
        ended = nil
        openDeletes = OpenDeletes()
    }

    private mutating func take(_ marker: LogRecord.Marker) {
        if marker.isRecovery {
            isRecovered = true
            // A migration names itself.
            if marker.author != nil, who == nil { who = marker }
        } else if !marker.isEnd, who == nil {
            who = marker
        }
    }

    private mutating func draft(
        of entity: TrackedEntity, record: LogRecord, key: ObjectKey, state: Draft.State
    ) -> Int {
        let name = EntityKey(entity: entity.id, key: key)
        if let index = current.updateValue(drafts.count, forKey: name),
            drafts[index].state == .deleted
        {
            deletedBefore[name] = index
        }
        drafts.append(
            Draft(entity: entity, key: key, seq: record.seq, state: state, end: record.seq))
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
        let origin = origins.removeValue(forKey: EntityKey(entity: entity.id, key: key))
        guard let index = index(of: entity, key: key), drafts[index].state != .deleted else {
            let index = draft(of: entity, record: record, key: key, state: .inserted)
            drafts[index].origin = origin
            return
        }
        switch drafts[index].state {
        case .inserted, .deleted, .nothing: break
        case .updated:
            drafts[index].state = .inserted
            drafts[index].mask = ColumnMask()
        case .replacing:
            drafts[index].state = .updated
            drafts[index].old = entity.oldValues(fromKept: drafts[index].keptBefore)
            drafts[index].mask = entity.nonKeyMask
            drafts[index].cause = .replace
            drafts[index].keptAtReplace = drafts[index].keptAtReplace ?? drafts[index].kept
            drafts[index].kept = []
        }
        if let origin { drafts[index].origin = origin }
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

    private mutating func delete(_ entity: TrackedEntity, from record: LogRecord) {
        let children = openDeletes.end(entity, at: record)
        let isDeleted = end(entity, from: record, cause: .direct)
        guard let index = index(of: entity, key: record.key(entity)) else { return }
        if let children {
            drafts[index].begun = min(children.begun, drafts[index].begun ?? .max)
            for child in children.drafts { drafts[child].parent = index }
        }
        if isDeleted { openDeletes.note(deleted: index, of: entity) }
    }

    /// A delete, or a REPLACE that wrote another key.
    /// - Returns: whether it ended an object that was there before.
    @discardableResult
    private mutating func end(
        _ entity: TrackedEntity, from record: LogRecord, cause: NetChange.Cause
    ) -> Bool {
        let key = record.key(entity)
        let name = EntityKey(entity: entity.id, key: key)
        let known = index(of: entity, key: key)
        if let index = vanished(name) {
            ended = (name, drafts[index].origin)
            return false
        }
        guard let index = known, !(keepsVanished && drafts[index].state == .inserted) else {
            let index = draft(of: entity, record: record, key: key, state: .deleted)
            drafts[index].kept = entity.keptValues(in: record.values)
            drafts[index].cause = cause
            ended = (name, index)
            return true
        }
        ended = (name, drafts[index].origin ?? index)
        switch drafts[index].state {
        case .deleted, .nothing:
            if cause == .replace { drafts[index].cause = cause }
            return false
        case .inserted:
            ended = (name, drafts[index].origin)
            drafts[index].state = .nothing
            // Deleted, inserted, deleted: the first delete is what remains.
            if let earlier = deletedBefore[name] { current[name] = earlier }
            return false
        case .updated, .replacing:
            drafts[index].state = .deleted
            drafts[index].end = record.seq
            drafts[index].kept = entity.keptValues(in: record.values)
            drafts[index].cause = cause
            return true
        }
    }

    /// The last draft of an object that the transaction inserted and deleted, and that was not
    /// there before: another record of its delete says nothing new.
    private func vanished(_ name: EntityKey) -> Int? {
        current[name].flatMap { drafts[$0].state == .nothing ? $0 : nil }
    }

    private mutating func replace(_ entity: TrackedEntity, from record: LogRecord) {
        guard record.m == 1 else {
            end(entity, from: record, cause: .replace)
            return
        }
        let key = record.key(entity)
        if vanished(EntityKey(entity: entity.id, key: key)) != nil { return }
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
        drafts[index].end = record.seq
    }

    /// The record is between the delete of the old key and the insert of the new one.
    private mutating func renumber(_ entity: TrackedEntity, from record: LogRecord) {
        let old = ObjectKey(Array(record.values.prefix(entity.keyCount)))
        let new = ObjectKey(Array(record.values.suffix(entity.keyCount)))
        guard let ended, ended.name == EntityKey(entity: entity.id, key: old) else { return }
        origins[EntityKey(entity: entity.id, key: new)] = ended.origin
    }

    /// Ends the transaction: the drafts that changed something, each cascade after its parent, seqs
    /// ascending.
    ///
    /// - Parameters:
    ///   - isCoalesced: its tombstones have the last values, which were committed, and its changes
    ///     the times of their writes. Not so of a commit between its markers among others that ran
    ///     together.
    ///   - end: the time of the transaction, where this is a part of it.
    /// - Complexity: O(records * log(records))
    func finish(isCoalesced: Bool = false, endingAt end: Timestamp? = nil) -> [NetChange] {
        var result = drafts
        // A REPLACE without its insert: only a log that was edited by hand has it.
        for index in result.indices where result[index].state == .replacing {
            result[index].state = .deleted
        }
        Self.nameKeyChanges(&result)
        Self.nameParents(&result)
        let end = isCoalesced ? end ?? time.map(Timestamp.init(julianDay:)) : nil
        return CascadeOrder.arrange(result).map { draft in
            var change = Self.netChange(draft, isCoalesced: isCoalesced)
            if let end { change.written = draft.written.ages(before: end) }
            return change
        }
    }

    /// Names the keys that a row had before and after the transaction. A key that it had in between
    /// is in no change, so that it is not named; a row that was not there before, or is not there
    /// after, has no other key to name.
    private static func nameKeyChanges(_ drafts: inout [Draft]) {
        for index in drafts.indices {
            guard let origin = drafts[index].origin, drafts[origin].state == .deleted else {
                continue
            }
            switch drafts[index].state {
            case .inserted:
                drafts[index].cause = .renumbered(drafts[origin].key)
                drafts[origin].cause = .renumbered(drafts[index].key)
            case .updated: drafts[origin].cause = .renumbered(drafts[index].key)
            case .deleted, .replacing, .nothing: break
            }
        }
    }

    /// A parent that is there afterwards, because REPLACE wrote it again, is no cause.
    private static func nameParents(_ drafts: inout [Draft]) {
        for index in drafts.indices {
            guard let parent = drafts[index].parent else { continue }
            if drafts[index].state == .deleted, drafts[parent].state == .deleted {
                drafts[index].cause = .cascade(
                    entity: drafts[parent].entity.id, key: drafts[parent].key)
            } else {
                drafts[index].parent = nil
            }
        }
    }

    private static func netChange(_ draft: Draft, isCoalesced: Bool) -> NetChange {
        var change = NetChange(
            seq: draft.seq, entity: draft.entity, key: draft.key,
            kind: draft.state == .inserted
                ? .insert : draft.state == .updated ? .update : .delete)
        change.cause = draft.cause
        change.last = max(draft.seq, draft.last)
        if draft.state == .updated {
            change.mask = draft.mask
            if !draft.old.isEmpty { change.old = draft.mask.positions.map { draft.old[$0] } }
        } else if isCoalesced {
            change.kept = draft.kept
            if change.kind == .delete {
                change.mask = draft.mask
                if !draft.old.isEmpty { change.old = draft.mask.positions.map { draft.old[$0] } }
            }
        } else {
            change.kept = draft.keptBefore
        }
        return change
    }
}
