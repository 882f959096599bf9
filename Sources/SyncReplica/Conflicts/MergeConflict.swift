import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

/// An entry of the conflict log: a fact that is current and that the tables do not show.
public struct MergeConflict: Sendable, Hashable {
    /// Why a fact is not shown.
    public enum Reason: String, Sendable, Hashable {
        /// A concurrent value is newer, or the view shows something else in its place.
        case lost
        /// An edit against a delete followed by an insert.
        case olderIncarnation = "older incarnation"
        /// An edit of an object that is deleted, or hidden with what it stands on.
        case hidden
        /// A delete of an object that something holds in place.
        case deleteLost = "delete lost"
    }

    /// What a side said, who, and when.
    public struct Side: Sendable, Hashable {
        /// The values of ``MergeConflict/properties``; empty for a delete.
        public let values: NamedValues
        /// Who wrote it; nil when nobody said.
        public let author: String?
        /// When it was written, by the writer's clock; nil when the transaction is forgotten.
        public let time: Timestamp?
        /// The replica that it was written on; nil when nothing was written: a repair is shown.
        public let replica: ReplicaID?
    }

    /// Names it in this store.
    public let id: Int64
    /// The entity's name.
    public let entity: String
    /// The key of the object here; nil when it never had one.
    public let key: ObjectKey?
    /// The properties that it is about; empty when it is about the object's existence.
    public let properties: [String]
    /// Why the fact is not shown.
    public let reason: Reason
    /// What is not shown.
    public let losing: Side
    /// What is shown instead; its values are those of the row now, empty where there is none.
    public let shown: Side
    /// Whether it is still so.
    public let isOpen: Bool

    /// `Album/348`, or `Album` where there is no key.
    public var path: String { key.map { "\(entity)/\($0)" } ?? entity }

    /// Which side of a conflict is to stay.
    public enum Choice: Sendable, Hashable {
        /// What is shown now.
        case shown
        /// What is not shown.
        case losing
    }
}
