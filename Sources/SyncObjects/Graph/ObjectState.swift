/// Where an object is in its life.
public enum ObjectState: Sendable, Hashable {
    /// Made without a context: never saved, never shared.
    case detached
    /// New, not saved yet.
    case inserted
    /// As the store has it.
    case clean
    /// With edits that are not saved.
    case updated
    /// To be deleted by the next save.
    case deletePending
    /// Deleted, or otherwise out of reach; its last known values and its unsaved edits can be read.
    case gone(Gone)

    /// The object is out of reach.
    public var isGone: Bool {
        if case .gone = self { return true }
        return false
    }
}

/// What a write to an object did.
public enum WriteOutcome: Sendable {
    /// The object has the new value.
    case changed
    /// It had that value already.
    case unchanged
    /// The object is gone: the value is kept with its unsaved edits, and nothing will save it.
    case keptOnGone(Gone)
    /// The value was refused; the object has its former one.
    case rejected(ObjectError)
}

/// Something that happened to an object.
public enum ObjectEvent: Sendable {
    /// Properties changed: here, or by a merge of what somebody else saved.
    case changed(Set<String>)
    /// The object is gone.
    case gone(Gone)
    /// The object is back: a deletion was undone, rolled back or overridden.
    case returned
}
