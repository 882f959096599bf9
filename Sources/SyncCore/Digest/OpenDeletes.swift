import SyncStorage

/// The deletes of objects that others refer to by `ON DELETE CASCADE`, between their begin (kind 6)
/// and their end (kind 3 with `m` = 1).
///
/// SQLite runs the BEFORE DELETE triggers of a row, removes it, deletes what refers to it, and then
/// runs its AFTER DELETE triggers. So what is deleted between begin and end is deleted because of
/// the row: by the cascade, or by a BEFORE DELETE trigger of the user. Such deletes nest.
///
/// A BEFORE DELETE trigger of the user can keep the row (`RAISE(IGNORE)`): its begin has no end,
/// and what seemed to be in it is not a cascade.
struct OpenDeletes {
    /// What one delete took along.
    struct Children {
        /// The seq of the begin.
        let begun: Int64
        /// The drafts of the children's deletes, in the order of the log.
        fileprivate(set) var drafts: [Int] = []
    }

    private struct Delete {
        let name: EntityKey
        /// The parent's name, folded.
        let table: String
        /// Julian day: the same in one statement.
        let time: Double?
        var children: Children
    }

    private var deletes: [Delete] = []

    /// Takes a record of kind 6.
    mutating func begin(_ entity: TrackedEntity, at record: LogRecord) {
        let name = EntityKey(entity: entity.id, key: record.key(entity))
        deletes.removeAll { $0.name == name }
        deletes.append(
            Delete(
                name: name, table: entity.folded, time: record.time,
                children: Children(begun: record.seq)))
    }

    /// Takes a delete.
    /// - Returns: what it took along; nil when it has no begin.
    mutating func end(_ entity: TrackedEntity, at record: LogRecord) -> Children? {
        guard !deletes.isEmpty, record.m & 1 == 1 else { return nil }
        let name = EntityKey(entity: entity.id, key: record.key(entity))
        guard let index = deletes.lastIndex(where: { $0.name == name && $0.time == record.time })
        else { return nil }
        let children = deletes[index].children
        deletes.removeSubrange(index...)
        return children
    }

    /// Takes the draft of a delete that may be a cascade of the innermost delete.
    mutating func note(deleted draft: Int, of entity: TrackedEntity) {
        guard let parent = deletes.last,
            entity.cascades.contains(where: { SQLName.folded($0.parent) == parent.table })
        else { return }
        deletes[deletes.count - 1].children.drafts.append(draft)
    }
}
