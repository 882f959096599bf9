import SyncMerge
import SyncValues

/// What the store's schema has that this database has not, and the other way round.
public struct SchemaComparison: Sendable, Hashable {
    /// A change that brings this database closer to the store's schema.
    public struct Change: Sendable, Hashable {
        /// What is done.
        public enum Kind: String, Sendable {
            /// RENAME TO.
            case renameTable
            /// RENAME COLUMN.
            case renameColumn
            /// CREATE TABLE, and its rows are synchronised.
            case newTable
            /// CREATE TABLE of one whose rows are not synchronised.
            case newUntrackedTable
            /// A table that is here is tracked.
            case track
            /// ADD COLUMN.
            case newColumn
            /// CREATE INDEX.
            case newIndex
            /// CREATE VIRTUAL TABLE.
            case newVirtualTable
            /// CREATE VIEW.
            case newView
            /// CREATE TRIGGER.
            case newTrigger
        }

        /// What is done.
        public let kind: Kind
        /// What it is done to: the object; of a column, `table.column`.
        public let name: String
        /// The statement; empty for ``Kind/track``.
        public let sql: String
        /// The object that is made; nil for a column and for ``Kind/track``.
        let object: SchemaObject?
    }

    /// What is not changed by itself.
    public struct Difference: Sendable, Hashable {
        /// The table, column, index, view or trigger.
        public let name: String
        /// What differs.
        public let reason: String
        /// What to do about it; nil: nothing has to be done.
        public let remedy: String?
    }

    /// The replica that stated the store's schema; nil: none is known.
    public let source: ReplicaID?
    /// When it was stated.
    public let time: Timestamp?
    /// What can be applied, in this order.
    public internal(set) var changes: [Change] = []
    /// What has to be decided.
    public internal(set) var differences: [Difference] = []
    /// What is here alone.
    public internal(set) var onlyHere: [String] = []
    /// What is not made, with the reasons.
    public internal(set) var refused: [RefusedObject] = []
    /// `user_version` of the store's schema where it differs.
    public internal(set) var userVersion: Int64?

    /// Whether this database has the store's schema.
    public var isEqual: Bool {
        changes.isEmpty && differences.isEmpty && refused.isEmpty && onlyHere.isEmpty
            && userVersion == nil
    }
}
