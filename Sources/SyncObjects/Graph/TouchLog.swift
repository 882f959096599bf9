/// Objects that changed since observers were told last, one entry for each touch: sets of them are
/// made only when there is somebody to tell.
struct TouchLog {
    struct Entries {
        fileprivate var ids: [ManagedObjectID] = []

        mutating func insert(_ id: ManagedObjectID) {
            // A relationship that gets many members touches its owner for each.
            if ids.last != id { ids.append(id) }
        }
    }

    var inserted = Entries()
    var updated = Entries()
    var deleted = Entries()
    /// Roots of which anything may have changed.
    var unseen: Set<String> = []

    var isEmpty: Bool {
        inserted.ids.isEmpty && updated.ids.isEmpty && deleted.ids.isEmpty && unseen.isEmpty
    }

    /// What there is to tell. An object is named as updated only where it is nothing more.
    ///
    /// - Complexity: O(touches)
    var objects: TouchedObjects {
        let inserted = Set(inserted.ids)
        let deleted = Set(deleted.ids)
        var updated = Set(updated.ids)
        updated.subtract(inserted)
        updated.subtract(deleted)
        return TouchedObjects(
            inserted: inserted, updated: updated, deleted: deleted, unseen: unseen)
    }
}

/// Objects that changed, as observers of a context are told.
struct TouchedObjects {
    let inserted: Set<ManagedObjectID>
    let updated: Set<ManagedObjectID>
    let deleted: Set<ManagedObjectID>
    /// Roots of which anything may have changed.
    let unseen: Set<String>
}
