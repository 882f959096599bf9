/// Objects that changed since observers were last notified, one entry for each change. Sets are
/// made only when there is an observer to notify.
struct TouchLog {
    struct Entries {
        fileprivate var ids: [ManagedObjectID] = []

        mutating func insert(_ id: ManagedObjectID) {
            // A relationship that gets many members names its owner for each.
            if ids.last != id { ids.append(id) }
        }
    }

    var inserted = Entries()
    var updated = Entries()
    var deleted = Entries()
    /// Roots of which any object may have changed.
    var unknown: Set<String> = []
    /// Counts the notifications, so that an object is noted once for each.
    private var round = 1

    var isEmpty: Bool {
        inserted.ids.isEmpty && updated.ids.isEmpty && deleted.ids.isEmpty && unknown.isEmpty
    }

    /// Notes a changed object, once until the next notification.
    mutating func noteChange(of object: ManagedObject) {
        guard object.touchRound != round else { return }
        object.touchRound = round
        updated.insert(object.identity)
    }

    /// Empties the log, and returns what was in it.
    mutating func take() -> TouchLog {
        let former = self
        self = TouchLog()
        round = former.round + 1
        return former
    }

    /// The objects to name in a notification. One is named as updated only if it was neither
    /// inserted nor deleted.
    ///
    /// - Complexity: O(entries)
    var objects: TouchedObjects {
        let inserted = Set(inserted.ids)
        let deleted = Set(deleted.ids)
        var updated = Set(updated.ids)
        updated.subtract(inserted)
        updated.subtract(deleted)
        return TouchedObjects(
            inserted: inserted, updated: updated, deleted: deleted, unknown: unknown)
    }
}
