/// One object: the identities that aliases join, with the values that the state gives them.
///
/// Groups are kept in an array in the order of their names; they name each other by position in it,
/// so that ties are broken in the same way everywhere.
struct Group {
    /// The version that the state has for a cell.
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
        /// What the deletion of the target means.
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
