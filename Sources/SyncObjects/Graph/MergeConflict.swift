import SyncCore

/// A conflict of a save: others wrote an object that it is about to write.
public struct MergeConflict: Sendable {
    /// What others did.
    public enum Kind: Sendable, Hashable {
        /// Changed properties of the object.
        case changed
        /// Deleted it.
        case deleted
        /// Changed what is to be deleted.
        case deletionOfChanged
        /// Stored another object with the same values in these columns, which must be unique.
        case constraint([String])
    }

    /// The object, with its unsaved edits.
    public let object: ManagedObject
    /// What others did.
    public let kind: Kind
    /// The stored values; nil when the object is not in the store.
    public let stored: [String: Value]?
    /// The context's values; nil when it is to delete the object.
    public let local: [String: Value]?
    /// The values that both changes are based on.
    public let base: [String: Value]
}

extension ManagedObjectContext {
    /// Makes the next save compare an unchanged object with the store, as if it were to be written.
    /// Use it for an object whose values other changes depend on. Does nothing for an object
    /// without values.
    ///
    /// - Throws: ``ObjectError/Code/wrongContext``
    public func detectConflicts(for object: ManagedObject) throws {
        try requireOwn(object)
        gate.locked {
            guard object.phase == .live else { return }
            unsaved.check(object.identity)
        }
    }
}
