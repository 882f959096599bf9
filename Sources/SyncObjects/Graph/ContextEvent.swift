/// An event of a context.
public enum ContextEvent: Sendable {
    /// Objects changed since the last such event: in this context, or by a merge.
    case didChange(
        inserted: Set<ManagedObjectID>, updated: Set<ManagedObjectID>, deleted: Set<ManagedObjectID>
    )
    /// The context was saved.
    case didSave(
        inserted: Set<ManagedObjectID>, updated: Set<ManagedObjectID>, deleted: Set<ManagedObjectID>
    )
    /// The context forgot its objects.
    case didReset
    /// An access that cannot throw could not read the store. It returned nil or its former value.
    case readFailed(ObjectError)
}
