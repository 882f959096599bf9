/// Why an object is gone.
public indirect enum GoneCause: Sendable, Hashable {
    /// It was deleted.
    case deleted
    /// It was deleted with another object.
    case cascade(of: ManagedObjectID)
    /// Another object has its key now.
    case replaced(by: ManagedObjectID)
    /// A save found another object with the same unique values, and that one was kept.
    case merged(into: ManagedObjectID)
    /// It was deleted before it was ever saved.
    case neverSaved
    /// Its entity is not in the store any more.
    case entityRemoved
    /// Its context was reset, or ended.
    case contextReset
    /// The store's file was removed, or is another one now.
    case storeReplaced
    /// It is not in the store; when it was deleted, and by which author, is unknown.
    case unknown
}
