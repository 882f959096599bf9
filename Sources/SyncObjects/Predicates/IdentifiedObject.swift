/// A type with an object's identity: objects.
public protocol IdentifiedObject {
    /// The identity.
    var objectID: ManagedObjectID { get }
}
