/// Something that happened to an object.
public enum ObjectEvent: Sendable {
    /// Properties changed: in this context, or by a merge of what others saved.
    case changed(Set<String>)
    /// The object is gone.
    case gone(Gone)
    /// The object is back: a deletion was undone, rolled back or overridden.
    case returned
}
