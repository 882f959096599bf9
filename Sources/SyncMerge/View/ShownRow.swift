/// One row of the tables, and where each of its values comes from.
package struct ShownRow: Sendable, Hashable {
    /// Position of the entity in the schema.
    package let entity: Int
    /// The shown identity: the least of the row's members. References and `View.shownAs` name the
    /// row by it.
    package let name: ObjectUID
    /// The identities that are shown as this row: by group, those of the group `name` first.
    package let members: [ObjectUID]
    /// One field per column; references name rows, a private number is NULL. A shared number is the
    /// one that the row shows.
    package var fields: [Field]
    /// Per cell the version that is shown; nil where the view shows something else.
    package var sources: [VersionID?]
    /// Versions beside these that are part of what is shown.
    package var blended: [VersionID] = []

    /// Describes a row.
    package init(
        entity: Int, name: ObjectUID, members: [ObjectUID], fields: [Field], sources: [VersionID?]
    ) {
        self.entity = entity
        self.name = name
        self.members = members
        self.fields = fields
        self.sources = sources
    }
}
