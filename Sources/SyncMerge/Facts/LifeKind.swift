/// What a life fact states about an object.
package enum LifeKind: UInt8, Sendable, Hashable {
    /// Inserted.
    case created
    /// Deleted.
    case deleted
    /// Written while it was shown although deleted: the object stays.
    case revived
}
