/// Objects that were fetched together as faults: when one is read, the others are read too.
final class FaultBatch: Sendable {
    let ids: [ManagedObjectID]

    init(_ ids: [ManagedObjectID]) { self.ids = ids }
}
