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
