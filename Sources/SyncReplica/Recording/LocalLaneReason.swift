/// Why transactions of this replica are stated with a region and a view, and not row by row
/// (``LocalLane``): the first reason that holds.
enum LocalLaneReason: String, Error {
    /// The store has numbers that are shared.
    case number
    /// Some objects are united.
    case alias
    /// The table has constraints that depend on other rows in more ways.
    case entity = "table"
    /// A row was deleted several times, or a row refers to one that was deleted.
    case delete
    /// A row has another key, or none.
    case key
    /// A row has no object, or an object has no row.
    case incomplete
    /// The object is unresolved, or something unresolved depends on it.
    case trouble
    /// The object had other lives, or cells of several versions.
    case versions = "several versions"
    /// A column that was written merges in another way than by the last writer.
    case policy
    /// A value is stored otherwise than it was written.
    case value
    /// A reference leads to no row.
    case reference
    /// The row's own table refuses it.
    case refused = "constraint"
    /// The identity of a new row was used before.
    case identity
}
