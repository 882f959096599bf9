import SyncCore
import Varlink

/// The present state of a held object.
public struct HeldObject: Sendable, Hashable {
    /// The object; its incarnation is that of the present object.
    public let object: ObjectID
    /// False: there is no row with this key.
    public let isPresent: Bool

    /// Makes a state.
    public init(object: ObjectID, isPresent: Bool) {
        self.object = object
        self.isPresent = isPresent
    }
}
