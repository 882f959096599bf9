import SyncStorage
import SyncValues

/// An entity and a key: an object in all its incarnations.
public struct ObjectName: Sendable, Hashable {
    /// The entity's name.
    public let entity: String
    /// The primary key's values.
    public let key: ObjectKey

    /// Makes a name.
    public init(entity: String, key: ObjectKey) {
        self.entity = entity
        self.key = key
    }

    /// Reads `Album/348`.
    ///
    /// - Throws: ``SyncError`` with code `invalidArgument`.
    public init(path: String) throws {
        guard let (entity, key) = ObjectID.parse(path: path) else {
            throw SyncError(
                .invalidArgument, "'\(path)' does not name an object",
                hint: "Write ENTITY/KEY, for example Album/348")
        }
        self.init(entity: entity, key: key)
    }
}

extension ObjectName {
    /// The name with its entity as ``SQLName/folded(_:)`` returns it: two names of one object are
    /// equal in this form.
    package var folded: ObjectName { ObjectName(entity: SQLName.folded(entity), key: key) }

    /// The folded name of an object.
    package init(foldedNameOf object: ObjectID) {
        self.init(entity: SQLName.folded(object.entity), key: object.key)
    }
}
