import SyncCore

/// One object as the store has it.
struct StoredRow: Sendable {
    let entity: EntityLayout
    let id: ManagedObjectID
    /// The slots of the entity; transient ones have their defaults.
    let values: [Value]
}
