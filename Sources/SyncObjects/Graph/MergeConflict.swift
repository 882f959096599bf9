import SyncCore

/// What a save met: somebody else wrote what it is about to write.
public struct MergeConflict: Sendable {
    /// What somebody else did.
    public enum Kind: Sendable, Hashable {
        /// Changed properties of the object.
        case changed
        /// Deleted it.
        case deleted
        /// Changed what is to be deleted.
        case deletionOfChanged
        /// Has the same values in these columns, which may occur once only.
        case constraint([String])
    }

    /// The object, with its unsaved edits.
    public let object: ManagedObject
    /// What somebody else did.
    public let kind: Kind
    /// What the store has; nil when the object is not there.
    public let stored: [String: Value]?
    /// What the context wants; nil when it wants to delete the object.
    public let local: [String: Value]?
    /// What both started from.
    public let base: [String: Value]
}

extension ManagedObjectContext {
    /// Has the next save compare an unchanged object with the store, as if it were to be written:
    /// for what was decided by looking at it. Does nothing for an object without values.
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
