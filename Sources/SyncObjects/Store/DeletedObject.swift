/// One object that was deleted.
struct DeletedObject: Sendable {
    let id: ManagedObjectID
    let gone: Gone
}
