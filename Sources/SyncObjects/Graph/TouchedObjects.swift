/// Objects that changed, as observers of a context are notified of them.
struct TouchedObjects {
    let inserted: Set<ManagedObjectID>
    let updated: Set<ManagedObjectID>
    let deleted: Set<ManagedObjectID>
    /// Roots of which any object may have changed.
    let unknown: Set<String>
}
