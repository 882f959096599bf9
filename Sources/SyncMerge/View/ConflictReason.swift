/// Why a fact that is current is not shown by the tables.
public enum ConflictReason: String, Sendable, Hashable {
    /// A concurrent value is newer, or belongs to another member of the same row; or the view shows
    /// another value in its place.
    case lost
    /// An edit against a delete followed by an insert.
    case olderIncarnation = "older incarnation"
    /// The object is not shown: deleted, cascaded, forced out, or not complete yet.
    case hidden
    /// A delete of an object that something else holds in place.
    case deleteLost = "delete lost"
}
