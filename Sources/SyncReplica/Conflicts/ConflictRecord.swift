import SyncCore
import SyncMerge
import SyncValues

/// An entry of the conflict log: a fact that is current and that the tables do not show.
public struct ConflictRecord: Sendable, Hashable {
    /// The values of one side, with author and time.
    public struct Side: Sendable, Hashable {
        /// The values of ``ConflictRecord/properties``; empty where the conflict is about the
        /// object's existence.
        public let values: NamedValues
        /// Whether this side is a delete.
        public let isDelete: Bool
        /// The author; nil when unknown.
        public let author: String?
        /// When it was written, by the writer's clock; nil when the transaction was dropped.
        public let time: Timestamp?
        /// The replica that it was written on; nil for a repair, which was not written.
        public let replica: ReplicaID?
    }

    /// Identifies it in this store.
    public let id: Int64
    /// The entity's name.
    public let entity: String
    /// The key of the object: of its row; of an object without a row, as last known here, or at
    /// the replica that sent it. Nil when none is known.
    public let key: ObjectKey?
    /// The properties in conflict; empty when the object's existence is.
    public let properties: [String]
    /// Why the fact is not shown.
    public let reason: ConflictReason
    /// Where the object is.
    public let presence: Presence
    /// Whether somebody deleted the object. Where it is hidden and nobody did, a constraint of this
    /// database refuses its row, or what it refers to was deleted.
    public let wasDeleted: Bool
    /// The side that is not shown.
    public let losing: Side
    /// The side that is shown instead; its values are those of the row now, empty without a row.
    /// Of a closed conflict those that were shown while it was open.
    public let shown: Side
    /// How it was closed: the value that is current since, and who wrote it; nil for an open one,
    /// and where that is not known.
    public let decision: Side?
    /// Whether the fact is still current and not shown.
    public let isOpen: Bool

    /// `Album/348`, or `Album` where there is no key.
    public var path: String { key.map { "\(entity)/\($0)" } ?? entity }

    /// Where an object is.
    public enum Presence: String, Sendable, Hashable {
        /// It has a row, or is shown as a part of the row of another object.
        case shown
        /// It is alive and has no row: a constraint keeps it out, or what it refers to is absent.
        case notShown
        /// It was deleted.
        case deleted
        /// Its table is not here: it was dropped.
        case noTable
    }

    /// The side of a conflict to keep.
    public enum Choice: Sendable, Hashable {
        /// The side that is shown now.
        case shown
        /// The side that is not shown.
        case losing
        /// Other values, by property, as text; nil: NULL. Those that are not named are of the side
        /// that is not shown.
        case values([String: String?])
    }
}
