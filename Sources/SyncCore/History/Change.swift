import SyncValues

/// What one transaction did to one object: the net effect, one change for each object, but for a
/// key that was deleted and inserted again, which makes two.
public struct Change: Sendable, Hashable {
    /// Insert, update or delete.
    public typealias Kind = ChangeKind

    /// Why the change happened.
    public enum Cause: Sendable, Hashable {
        /// A statement named the object.
        case direct
        /// A foreign-key action, because this object was deleted.
        case cascade(of: ObjectID)
        /// `REPLACE` removed the row, or wrote it again.
        case replace
        /// The key was changed: the same row before (of an insert) or after (of a delete).
        case renumbered(ObjectID)
        /// A merge of another replica's transactions.
        case merge
    }

    /// The log row that it was made from: unique within the store, ascending within a transaction.
    public package(set) var seq: Int64
    /// The object, with the incarnation that the change is about.
    public let object: ObjectID
    /// What happened.
    public let kind: Kind
    /// Updates: the names of the changed properties, in column order. Deletes in a transaction
    /// whose commits ran together: those that it changed before the delete. Else empty.
    public let properties: [String]
    /// Deletes: the values that were kept. Else nil.
    public package(set) var tombstone: NamedValues?
    /// Of an entity with `undo`: the values of ``properties`` before the transaction. Else nil.
    public package(set) var oldValues: NamedValues?
    /// Why.
    public let cause: Cause
    /// Columns that the table got after the change; only where it has the names of now.
    var addedLater: [String] = []

    /// Makes a change: for decoders.
    public init(
        seq: Int64, object: ObjectID, kind: Kind, properties: [String], tombstone: NamedValues?,
        oldValues: NamedValues?, cause: Cause
    ) {
        self.seq = seq
        self.object = object
        self.kind = kind
        self.properties = properties
        self.tombstone = tombstone
        self.oldValues = oldValues
        self.cause = cause
    }

    /// The entity's name.
    public var entity: String { object.entity }
}
