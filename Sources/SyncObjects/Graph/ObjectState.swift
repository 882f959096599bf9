/// The state of an object.
public enum ObjectState: Sendable, Hashable {
    /// Made without a context: never saved, never shared.
    case detached
    /// New, not saved yet.
    case inserted
    /// Equal to the stored row.
    case clean
    /// With edits that are not saved.
    case updated
    /// To be deleted by the next save.
    case deletePending
    /// Deleted, or no longer accessible; its last known values and its unsaved edits can be read.
    case gone(Gone)

    /// The object is gone.
    public var isGone: Bool {
        if case .gone = self { return true }
        return false
    }
}
