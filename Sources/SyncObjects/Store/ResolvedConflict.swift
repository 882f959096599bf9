import Foundation
import SyncCore

/// A conflict that a policy resolved, with the values involved.
public struct ResolvedConflict: Sendable {
    /// The object.
    public let object: ManagedObjectID
    /// The stored values; nil when the object had been deleted.
    public let stored: [String: Value]?
    /// The context's values; nil when it was to delete the object.
    public let local: [String: Value]?
    /// The values that both changes are based on.
    public let base: [String: Value]
    /// The policy that decided.
    public let policy: MergePolicy
    /// When.
    public let time: Date
}
