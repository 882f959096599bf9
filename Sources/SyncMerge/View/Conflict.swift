/// A fact that is current and that the tables do not show.
package struct Conflict: Sendable, Hashable {
    /// Why it is not shown.
    package enum Reason: String, Sendable, Hashable {
        /// A concurrent version is newer, or belongs to another member of the same row; or the view
        /// shows something else in its place.
        case lost
        /// An edit concurrent with a delete that was followed by an insert.
        case olderIncarnation = "older incarnation"
        /// The object is not shown: deleted, cascaded, forced out, or not complete yet.
        case hidden
        /// A delete of an object that other rows still require.
        case deleteLost = "delete lost"
    }

    /// Why it is not shown.
    package let reason: Reason
    /// The fields that are not shown; empty for a delete.
    package let value: [Field]
}
