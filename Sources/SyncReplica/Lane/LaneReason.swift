/// Why the fast lane leaves an object of a slice to the general lane, in the order in which the
/// rules are applied: an object has the first reason that holds.
enum LaneReason: String, CaseIterable {
    /// The slice takes away what it does not have: a snapshot with gaps.
    case gaps = "snapshot with gaps"
    /// Triggers of the user fire.
    case trigger = "trigger"
    /// Its table has constraints that depend on other rows in more ways, or other columns here.
    case entity = "table"
    /// It is part of an alias, or the slice makes it one.
    case alias = "alias"
    /// It is unresolved, or an unresolved object names it.
    case trouble = "trouble"
    /// Its life changes, or it is not the first life of a new object.
    case life = "life"
    /// A cell gets several versions.
    case versions = "several versions"
    /// A part of it is not in the slice.
    case incomplete = "incomplete"
    /// A cell that is written has another policy than `lastWriter`.
    case policy = "policy"
    /// A value is the state of a counter, a set or a text, from when its column had that policy,
    /// or begins as one.
    case state = "state"
    /// A reference has several concurrent versions.
    case rivals = "concurrent references"
    /// Its row gets another key.
    case key = "key"
    /// It is new in a table that SET DEFAULT may fall back to.
    case fallback = "default target"
    /// A CHECK sees a reference.
    case check = "check of a reference"
    /// This replica's constraints refuse its row.
    case refused = "constraint"
    /// The number that it has at the sender is not free here.
    case number = "number"
    /// Something else claims, or may claim, what it claims.
    case claim = "claim"
    /// What it refers to is not at rest.
    case reference = "reference"
}
