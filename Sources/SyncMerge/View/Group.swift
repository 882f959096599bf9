import SyncValues

/// The identities that aliases make one object, with the values that the state gives it.
///
/// Groups are kept in an array in the order of their names; they name each other by position in it,
/// so that equal positions decide equally everywhere.
struct Group {
    /// A version that the state offers for a cell.
    package struct Cell {
        /// Which version of which member.
        let source: VersionID
        /// Its fields.
        let value: [Field]
        /// Other versions of the same member that are part of the value.
        var blended: [VersionID] = []
    }

    /// A reference of the group to another.
    struct Edge {
        /// Position of the reference in the entity.
        let reference: Int
        /// What the end of the target means.
        let kind: EdgeKind
        /// Position of the target group; nil when it is absent: not here, filtered or incomplete.
        let target: Int?
        /// Position of the group that the reference falls back to.
        let fallback: Int?
    }

    /// The least member that is here.
    let name: ObjectUID
    /// Position of the entity in the schema.
    let entity: Int
    /// The identities, sorted.
    let members: [ObjectUID]
    /// Whether a member is alive.
    let isAlive: Bool
    /// Whether a part of the object has not arrived yet: then it counts as absent.
    let isComplete: Bool
    /// One per cell of the entity; empty when not complete.
    let cells: [Cell]
    /// Its references to others.
    var edges: [Edge] = []
}

/// What the end of a target means for a row that refers to it.
enum EdgeKind {
    /// The target cannot end while the row lives: it is shown although deleted.
    case hard
    /// The row ends with its target.
    case weak
    /// The reference is shown as NULL.
    case null
    /// The reference is shown as its default.
    case fallback
}
