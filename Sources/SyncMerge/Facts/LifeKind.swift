/// What a life fact states about an object.
///
/// Stored: a number of which both of the lowest bits are set is none (`syncd_object.record`).
package enum LifeKind: UInt8, Sendable, Hashable {
    /// Inserted.
    case created
    /// Deleted.
    case deleted
    /// Written while it was shown although deleted: the object stays.
    case revived
}
