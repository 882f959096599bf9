import SyncValues

/// An entity's number and a key: an object as the log refers to it.
struct EntityKey: Hashable {
    let entity: Int64
    let key: ObjectKey
}
