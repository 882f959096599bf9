import Foundation
import SyncCore

/// Why an object is gone.
public indirect enum GoneCause: Sendable, Hashable {
    /// Somebody deleted it.
    case deleted
    /// It was deleted with another object.
    case cascade(of: ManagedObjectID)
    /// Another object has its key now.
    case replaced(by: ManagedObjectID)
    /// A save found another object with the same unique values, and that one was kept.
    case merged(into: ManagedObjectID)
    /// It was deleted before it was ever saved.
    case neverSaved
    /// Its entity is not in the store any more.
    case entityRemoved
    /// Its context was reset, or ended.
    case contextReset
    /// The store's file was removed, or is another one now.
    case storeReplaced
    /// It is not in the store; who deleted it, and when, is not known.
    case unknown
}

/// What is known of the end of an object.
public struct Gone: Sendable, Hashable {
    /// Why it is gone.
    public var cause: GoneCause
    /// Who deleted it, where somebody said so.
    public var author: String?
    /// When.
    public var time: Date?
    /// The number of the transaction in the store's history, where it has one.
    public var transaction: Int64?
    /// The values that history kept of it, in stored form: of an object that nobody here had read,
    /// all that is known. Nil where history keeps none; a property that it does not keep is absent.
    public var tombstone: [String: Value]?

    /// Makes a description.
    public init(
        _ cause: GoneCause, author: String? = nil, time: Date? = nil, transaction: Int64? = nil,
        tombstone: [String: Value]? = nil
    ) {
        self.cause = cause
        self.author = author
        self.time = time
        self.transaction = transaction
        self.tombstone = tombstone
    }
}
