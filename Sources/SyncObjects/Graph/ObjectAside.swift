/// What few objects have, beside the object itself so that the others need not carry it. Confined
/// to the object's gate.
final class ObjectAside {
    /// Why the object is gone.
    var gone: Gone?
    /// What the last write did, where that was more than a change or none.
    var outcome: WriteOutcome?
    /// Why the last access could not read it.
    var readFailure: ObjectError?
    /// Objects that were read along with it, so that following its relationships reads nothing.
    var prefetched: [ManagedObject] = []
    /// Set in objects that tell the names of key paths.
    var probe: NameProbe?
    /// Who listens to the object.
    var events: Broadcast<ObjectEvent>?
}
