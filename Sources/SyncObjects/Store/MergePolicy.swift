import Foundation
import SyncCore

/// Which values are saved when others have changed the same objects meanwhile. Each policy is named
/// for the values it keeps.
public enum MergePolicy: Sendable, Hashable {
    /// None: the save throws with every conflict, and writes nothing.
    case fail
    /// Property by property, the store's value where both changed one; local edits of others are
    /// saved.
    case keepStored
    /// Property by property, the local value where both changed one; the store's other changes
    /// stay. What was deleted elsewhere comes back, with its id.
    case keepLocal
    /// The whole local object. What was deleted elsewhere comes back, with its id.
    case overwrite
    /// The whole stored object: local edits of it are dropped.
    case discardLocal

    /// Core Data's `NSErrorMergePolicy`.
    public static let error = Self.fail
    /// Core Data's `NSMergeByPropertyStoreTrumpMergePolicy`.
    public static let mergeByPropertyStoreTrump = Self.keepStored
    /// Core Data's `NSMergeByPropertyObjectTrumpMergePolicy`.
    public static let mergeByPropertyObjectTrump = Self.keepLocal
    /// Core Data's `NSRollbackMergePolicy`.
    public static let rollback = Self.discardLocal

    var restoresDeleted: Bool { self == .keepLocal || self == .overwrite }
}
