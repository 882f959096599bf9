/// Rarely used state of an object, stored separately to keep objects small. Confined to the
/// object's gate.
final class ObjectAside {
    /// Why the object is gone.
    var gone: Gone?
    /// The outcome of the last write, if it is neither a change nor none.
    var outcome: WriteOutcome?
    /// Why the last access could not read it.
    var readFailure: ObjectError?
    /// Objects that were read along with it, so that following its relationships reads nothing.
    var prefetched: [ManagedObject] = []
    /// Set in objects that are probes for the names of key paths.
    var probe: NameProbe?
    /// The listeners of the object.
    var events: Broadcast<ObjectEvent>?
}
