import Foundation
import SyncCore

/// What is known about a gone object.
public struct Gone: Sendable, Hashable {
    /// Why it is gone.
    public var cause: GoneCause
    /// The author of the deletion; nil if unknown.
    public var author: String?
    /// When.
    public var time: Date?
    /// The number of the transaction in the store's history, where it has one.
    public var transaction: Int64?
    /// The values that history kept of it, in stored form: for an object that was never read here,
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
