import Foundation
import SyncCore

/// Who wins when what is to be saved was changed by somebody else meanwhile. Named by the winner.
public enum MergePolicy: Sendable, Hashable {
    /// Nobody: the save throws with every conflict, and writes nothing.
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

/// A conflict that a policy resolved, with what it cost.
public struct ResolvedConflict: Sendable {
    /// The object.
    public let object: ManagedObjectID
    /// What the store had; nil when the object had been deleted there.
    public let stored: [String: Value]?
    /// What the context wanted; nil when it wanted to delete the object.
    public let local: [String: Value]?
    /// What both started from.
    public let base: [String: Value]
    /// The policy that decided.
    public let policy: MergePolicy
    /// When.
    public let time: Date
}
