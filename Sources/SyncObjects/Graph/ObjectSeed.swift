import SyncCore

/// What a managed object is made from. Made by contexts and by the convenience initialisers.
public struct ObjectSeed {
    let entity: EntityLayout
    let id: ManagedObjectID
    let gate: Gate
    var values: [Value]?
    var phase: ManagedObject.Phase
}
